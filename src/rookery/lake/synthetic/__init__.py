"""Generated history: what a fleet and its mesh would have reported, with faults that are known.

    population ─ who there is      mesh ─ realms and links      faults ─ what goes wrong, and when
         └──────────────┬──────────────┴───────────────┬──────────────────────┘
              device_reports, link_samples, …    truths ─ the same faults for people and tests
                        └─▶ history ─▶ landing rows in order of arrival ─▶ a lake, or spools

Every value is a function of the seed, who reports and when: a history is the same however it is cut
into chunks, and a repeated report is the same to the bit. Measured values are multiples of powers
of two, so that their sums are exact in whatever order they are added.
"""
