"""Bytes to frozen values and back; nothing here touches a socket or a clock."""
