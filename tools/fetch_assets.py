"""Fetches what the report's page brings along from others, as it was published.

`python tools/fetch_assets.py` needs npm, and is only needed to bring in another release: the files
are part of the repository. What npm gives must have the checksum that stands here.
"""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VENDOR = Path(__file__).parent.parent / "tflogscope" / "views" / "report" / "assets" / "vendor"
PACKAGE = "uplot@1.6.32"  # MIT; draws the chart of memory
INTEGRITY = (  # `npm view uplot@1.6.32 dist.integrity`
    "sha512-KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw=="
)
# In the package; here; SHA-256. tests/test_report.py holds the files to this.
FILES = {
    "package/dist/uPlot.iife.min.js": (
        "uPlot.iife.min.js",
        "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    ),
    "package/dist/uPlot.min.css": (
        "uPlot.min.css",
        "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
    ),
    "package/LICENSE": (
        "LICENSE.uPlot",
        "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
    ),
}


def fetch() -> None:
    """Ask npm for the package, check it, and lay out its files."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", "--silent", PACKAGE]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        (archive,) = Path(folder).glob("*.tgz")
        digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if f"sha512-{digest}" != INTEGRITY:
            sys.exit(f"{PACKAGE} is not what it was: sha512-{digest}")
        VENDOR.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archive) as packed:
            for path, (name, sha256) in FILES.items():
                member = packed.extractfile(path)
                content = b"" if member is None else member.read()
                if hashlib.sha256(content).hexdigest() != sha256:
                    sys.exit(f"{path} is not what it was")
                (VENDOR / name).write_bytes(content)
                print(f"{VENDOR / name}: {len(content):,} bytes")


if __name__ == "__main__":
    fetch()
