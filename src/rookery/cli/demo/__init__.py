"""`rookery demo`: small worlds on this machine, with real packets and a guided tour.

    site_plan ─ devices, sites, links   world ─ composition root; shows the tour
        ├─ devices         agents of devices; most are mesh nodes behind emulated links
        ├─ fleet_hub       the hub, and servers that connect owners with their devices
        ├─ sensors         a crow broker; sensors on a serial line and on UDP
        ├─ synthetic_data  two weeks of history of these very devices, in the lake
        └─ pipeline        the lake's own work, in the background, and what it exports
    incidents ─ faults that the user can start and end, also from another terminal

`links_scenario` and `links_steps` are another, shorter demo: endpoints and what runs over their
links.
"""
