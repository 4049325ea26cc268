#!/usr/bin/env bash
# Runs a command with a PATH that holds every program but C compilers.
set -euo pipefail
bin="$(mktemp -d)"
trap 'rm -rf "$bin"' EXIT
IFS=: read -ra folders <<< "$PATH"
for folder in "${folders[@]}"; do
    for program in "$folder"/*; do
        case "${program##*/}" in
            cc | c[0-9]9 | gcc* | g++* | clang* | tcc | zig | *-gcc* | *-cc | "*") ;;
            *) [ -e "$bin/${program##*/}" ] || ln -s "$program" "$bin/${program##*/}" ;;
        esac
    done
done
PATH="$bin" "$@"
