"""Enrolment of routers and servers: codes, derived secrets, and who gets one."""
