"""Members of the realm, invitations, and the links with neighbours."""
