"""The example notebooks that every server sees, read-only, as /examples."""

import shutil
from pathlib import Path


def examples_folder() -> Path:
    """Return the folder of our notebooks, in a checkout and in an installed wheel alike."""
    here = Path(__file__).resolve()
    checkout = here.parents[3] / "notebooks"
    return checkout if checkout.is_dir() else here.parents[1] / "notebooks"


def put_examples(target: Path) -> int:
    """Copy our notebooks to a site's examples; what a site put there itself stays.

    Args:
        target: The site's folder, which only its owner writes.

    Returns:
        How many notebooks were new or had changed.
    """
    changed = 0
    for source in sorted(examples_folder().glob("*.ipynb")):
        place = target / source.name
        if place.is_file() and place.read_bytes() == source.read_bytes():
            continue
        partial = place.with_suffix(".partial")
        shutil.copyfile(source, partial)
        partial.chmod(0o644)
        partial.replace(place)
        changed += 1
    return changed
