"""Enrolment of devices and servers: codes, derived secrets, and who gets one."""
