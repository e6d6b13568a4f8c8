"""What a rebuild does not take from the house record: tables made anew from elsewhere, and columns that hold a passing look."""

from __future__ import annotations

# table → where its rows come from. Everything else is recorded; tests/store holds every writer to it.
TABLES = {
    "published_cells": "shipped with the product",
    "published_remarks": "shipped with the product",
    "public_results": "shipped with the product",
    "public_results_loaded": "shipped with the product",
    "cell_gates": "worked out again from the stored events",
    "ingest_leases": "who takes in a run's events right now",
    "house_cursor": "the place in the house record",
    "schema_migrations": "the files of core/store/migrations",
}
# (table, column): when a box answered last says nothing about what was measured, and would be a line in the record at every look.
COLUMNS = {("run_state", "reached_at")}
