"""Devices and their owners, enrolment codes, and the entries of everything that reports."""
