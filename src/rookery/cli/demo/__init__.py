"""`rookery demo`: small worlds on this machine, with real packets, that explain themselves.

    site_plan ─ who and where          world ─ puts it together, and tells the tour
        ├─ gateways   mesh nodes behind weather relays, an agent beside each
        ├─ devices    agents of routers without a node
        ├─ servers    where owners and their routers meet
        ├─ sensors    a crow broker; devices on a serial line and on UDP
        ├─ past       two weeks of history for these very members, in the lake
        └─ pipeline   the lake's own work, in the background, and what it exports
    incident ─ what the user may let happen; desk ─ where another terminal asks for it

`links` and its modules are another, shorter world: endpoints and what runs over their links.
"""
