"""Second factors: authenticator apps, passkeys, and recovery codes for when those are lost."""
