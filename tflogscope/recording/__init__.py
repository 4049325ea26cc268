"""Run a program so that its log says most for least: settings, header, the recorder."""

from __future__ import annotations
