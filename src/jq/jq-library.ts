// Functions of jq that are written in jq.

import { createFunctionScope, type JqLibrary } from './jq-scope.ts'
import { parseJqLibrary } from './parse/parse-jq.ts'

const library = String.raw`
def map(f): [.[] | f];
def select(f): if f then . else empty end;
def values: select(. != null);
def nulls: select(. == null);
def booleans: select(type == "boolean");
def numbers: select(type == "number");
def strings: select(type == "string");
def arrays: select(type == "array");
def objects: select(type == "object");
def iterables: select(type == "array" or type == "object");
def scalars: select(type != "array" and type != "object");
def recurse(f; condition): recurse(f | select(condition));
def recurse: recurse(.[]?);
def add: reduce .[] as $x (null; . + $x);
def add(f): reduce f as $x (null; . + $x);
def any: reduce .[] as $x (false; . or $x);
def all: reduce .[] as $x (true; . and $x);
def isempty(f): label $out | ((f | false, break $out), true);
def first(f): label $out | (f | ., break $out);
def any(f): isempty(first(.[] | f | select(.))) | not;
def all(f): isempty(first(.[] | f | select(. | not)));
def any(source; f): isempty(first(source | f | select(.))) | not;
def all(source; f): isempty(first(source | f | select(. | not)));
def first: .[0];
def last: .[-1];
def last(f): reduce f as $x (null; $x);
def limit($n; f): if $n <= 0 then empty else label $out | foreach f as $x (0; . + 1; $x, if . >= $n then break $out else empty end) end;
def nth($n): .[$n];
def nth($n; f): last(limit($n + 1; f));
def in(object): . as $key | object | has($key);
def inside(whole): . as $part | whole | contains($part);
def index($part): indices($part) | if . == null then null else .[0] end;
def rindex($part): indices($part) | if . == null then null else .[-1:][0] end;
def to_entries: [keys_unsorted[] as $key | { key: $key, value: .[$key] }];
def _name: if type == "string" then . elif . == null then "null" else tojson end;
def from_entries: [.[] | [(if .key == null then (if .key == false then .key else (.k // .name // .Name // .K // .Key) end) else .key end | _name), (if has("value") then .value elif has("v") then .v else .Value end)]] | _from_pairs;
def with_entries(f): to_entries | map(f) | from_entries;
def map_values(f): .[] |= f;
def paths: path(..) | select(length > 0);
def paths(f): . as $whole | paths | select(. as $path | $whole | getpath($path) | f);
def leaf_paths: paths(scalars);
def del(f): delpaths([path(f)]);
def pick(f): . as $whole | reduce path(f) as $path (null; setpath($path; $whole | getpath($path)));
def sort_by(f): [.[] | [[f], .]] | _sort_pairs;
def group_by(f): [.[] | [[f], .]] | _group_pairs;
def unique_by(f): [group_by(f)[] | .[0]];
def unique: unique_by(.);
def min: sort | .[0];
def max: sort | .[-1];
def min_by(f): sort_by(f) | .[0];
def max_by(f): sort_by(f) | .[-1];
def walk(f): def w: (if type == "object" then map_values(w) elif type == "array" then map(w) else . end) | f; w;
def match(pattern): _matches(pattern; null)[];
def match(pattern; $flags): _matches(pattern; $flags)[];
def scan(pattern): _captures(pattern; "g")[];
def split(pattern; $flags): . as $text | [foreach (_matches(pattern; "g" + ($flags // ""))[], null) as $m ({ at: 0 }; if $m == null then .piece = $text[.at:] else { piece: $text[.at:$m.offset], at: ($m.offset + $m.length) } end; .piece)];
def splits(pattern): split(pattern; null)[];
def combinations: if length == 0 then [] else .[0][] as $head | (.[1:] | combinations) as $tail | [$head] + $tail end;
def combinations($n): . as $items | [range($n) | $items] | combinations;
def ascii: [.] | implode;
def todate: error("todate is not supported: use format_date of rules");
def env: {};
def abs: if type == "number" and . < 0 then -. else . end;
def toarray: if type == "array" then . else [.] end;
def debug: .;
`

let functions: JqLibrary | undefined

/** Made with the first program. */
export function loadJqLibrary(): JqLibrary {
  functions ??= new Map(
    parseJqLibrary(library).map((one) => [`${one.name}/${one.parameters.length}`, createFunctionScope(one, undefined)]),
  )
  return functions
}
