# Sourced by the install scripts beside it, each in its own folder: a folder of what is installed, which is whole or not there.
#
#   begin NAME MARK [FOLDER]   prints FOLDER and ends the script if it is there already, else makes $tmp to install into;
#                              without FOLDER it is one of the cache, of NAME and of what the script's files say
#   packages                   installs into $tmp what package-lock.json pins
#   whole                      makes of $tmp the folder, and prints it
#
# MARK is a file that the folder has when it is whole.

begin() {
  local key
  mark=$2
  key=$(find . -maxdepth 1 -type f -print0 | LC_ALL=C sort -z | xargs -0 cat ../folder.sh | cksum | cut -d' ' -f1)
  dir=${3:-${XDG_CACHE_HOME:-$HOME/.cache}/pintle/$1-$key}
  if [[ -e $dir/$mark ]]; then
    echo "$dir"
    exit
  fi
  mkdir -p "$(dirname "$dir")"
  tmp=$(mktemp -d "$dir.XXXXXX")
  trap 'rm -rf "$tmp"' EXIT
}

packages() {
  cp package.json package-lock.json "$tmp"
  npm ci --prefix "$tmp" --ignore-scripts --no-audit --no-fund --silent >&2
}

whole() {
  [[ -e $tmp/$mark ]] || echo '{}' >"$tmp/$mark" # the last
  rmdir "$dir" 2>/dev/null || true                # one that is empty
  if [[ -e $dir && ! -e $dir/$mark ]]; then
    echo "$dir has something else in it" >&2
    exit 1
  fi
  [[ -e $dir ]] || mv "$tmp" "$dir" # another may have been quicker
  echo "$dir"
}
