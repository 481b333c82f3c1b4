"""Steps from one state of the tables to the next; run by `rookery.store.database.migration`."""
