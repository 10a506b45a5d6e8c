"""Another table under a name that somebody is working with."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from urllib.parse import urlparse


def give_name_to_another(catalog, name):
    """The same files and snapshots by another uuid, so that only that tells the two apart."""
    *namespace, table = name
    location = Path(urlparse(catalog.load_table(name).metadata_location).path)
    metadata = {**json.loads(location.read_text()), "table-uuid": str(uuid.uuid4())}
    made = location.with_name(f"99999-{uuid.uuid4()}.metadata.json")
    made.write_text(json.dumps(metadata))
    catalog.rename_table(name, (*namespace, f"{table}_before"))
    catalog.register_table(name, f"file://{made}")
