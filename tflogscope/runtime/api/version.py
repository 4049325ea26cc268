"""`tf.version`: the release of TensorFlow that is followed."""

from __future__ import annotations

from tflogscope.runtime import release
from tflogscope.runtime.api.missing import missing

_RELEASES = {
    "2.8": ("2.8.4", "v2.8.3-90-g1b8f5c396f0", 987, "2.8.0"),
    "2.13": ("2.13.1", "v2.13.0-17-gf841394b1b7", 1482, "2.13.1"),
    "2.16": ("2.16.2", "v2.16.1-19-g810f233968c", 1766, "3.15.1"),
    "2.20": ("2.20.0", "v2.20.0-rc0-4-g72fbba3d20f", 2288, "3.15.1"),
    "2.21": ("2.21.0", "v2.21.0-rc1-5-ga481b10260d", 2474, "3.15.1"),
}
"""By series: version, commit, version of graphs, version of Keras."""

VERSION, GIT_VERSION, GRAPH_DEF_VERSION, KERAS_VERSION = _RELEASES[release.BASE]


def follow(followed: str) -> None:
    """From now on tell of the release of this series; of one that is not known, of the base."""
    global VERSION, GIT_VERSION, GRAPH_DEF_VERSION, KERAS_VERSION
    series = ".".join(followed.split(".")[:2])
    known = _RELEASES.get(series, _RELEASES[release.BASE])
    VERSION, GIT_VERSION, GRAPH_DEF_VERSION, KERAS_VERSION = known


__getattr__ = missing("tf.version")
