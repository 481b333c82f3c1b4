"""`rookery realm`: found a realm, invite, join, list and revoke members."""
