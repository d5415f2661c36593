// Compares a tree of sources with the floor plan. It knows no rule of its own: all of them are handed in as data, so
// that the tests can build a small house with one fault in it.

import { readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { basename, dirname, join, normalize, relative, sep } from 'node:path'
import { readSource, type SourceFile, type SourceImport } from './source-file.ts'

export type BreachKind =
  | 'unknown-room'
  | 'floor'
  | 'inner-floor'
  | 'back-door'
  | 'missing-file'
  | 'circle'
  | 'long-file'
  | 'long-function'
  | 'file-name'
  | 'library'
  | 'web-page'
  | 'impure'
  | 'assertion'
  | 'syntax'
  | 'stale-exception'

export interface Breach {
  readonly kind: BreachKind
  readonly file: string
  readonly line: number
  /** The imported file, where the breach is an import. */
  readonly to?: string
  readonly message: string
}

export interface HouseException {
  readonly kind: BreachKind
  readonly file: string
  readonly to?: string
  readonly reason: string
}

export interface HouseRules {
  readonly rooms: Readonly<Record<string, { readonly floor: number; readonly pure: boolean }>>
  readonly innerFloors: Readonly<Record<string, readonly (readonly string[])[]>>
  readonly libraryOwners: Readonly<Record<string, string>>
  /** The web page: what it may take from `src/`, and the files that may import each of its libraries. */
  readonly webPage?: {
    readonly folder: string
    readonly entries: readonly string[]
    readonly libraries: Readonly<Record<string, readonly string[]>>
  }
  readonly longestFile: number
  readonly longestFunction: number
  readonly forbiddenFileNames: readonly string[]
  readonly exceptions: readonly HouseException[]
}

interface Edge {
  readonly from: SourceFile
  readonly to: string
  readonly imported: SourceImport
}

/** Inspects `src/`, and for names and lengths of files also `test/`, `bench/` and `bin/`, below `root`. */
export function inspectHouse(root: string, rules: HouseRules): Breach[] {
  const { webPage } = rules
  const folders = ['src', 'test', 'bench', 'bin', ...(webPage === undefined ? [] : [webPage.folder])]
  const files = folders.flatMap((folder) => readTree(root, folder))
  const sources = files.filter((file) => file.path.startsWith('src/'))
  const edges = sources.flatMap(edgesOf)
  const found = [
    ...files.flatMap((file) => inspectFile(file, rules)),
    ...sources.flatMap((file) => inspectSource(file, rules)),
    ...edges.flatMap((edge) => inspectEdge(edge, rules, sources)),
    ...(webPage === undefined ? [] : files.flatMap((file) => inspectWebPage(file, webPage))),
  ]
  const forgiven = (breach: Breach): boolean => rules.exceptions.some((exception) => covers(exception, breach))
  const forgivenEdges = new Set(found.filter(forgiven).map((breach) => `${breach.file} ${breach.to}`))
  const kept = edges.filter((edge) => !forgivenEdges.has(`${edge.from.path} ${edge.to}`))
  const all = [...found, ...findCircles(kept)]
  return [...all.filter((breach) => !forgiven(breach)), ...staleExceptions(rules, all)]
}

function inspectFile(file: SourceFile, rules: HouseRules): Breach[] {
  const breaches: Breach[] = []
  const say = (kind: BreachKind, message: string, line = 1): number =>
    breaches.push({ kind, file: file.path, line, message })
  const name = basename(file.path).replace(/(\.test)?\.[a-z]+$/, '')
  if (rules.forbiddenFileNames.includes(name)) say('file-name', `a file named ${name} says nothing: name its one idea`)
  if (file.lines > rules.longestFile)
    say('long-file', `${file.lines} lines, at most ${rules.longestFile}: look for the second idea`)
  for (const error of file.syntaxErrors) say('syntax', error)
  // The callback of a suite is a list of tests, not a thought: in test/ only the length of the file counts.
  if (file.path.startsWith('test/')) return breaches
  for (const { name: called, lines, line } of file.functions) {
    if (lines > rules.longestFunction)
      say('long-function', `${called} has ${lines} lines, at most ${rules.longestFunction}`, line)
  }
  return breaches
}

const costly = 'the message of an assertion is put together at every call: throw failedAssertion(...) where it fails'

/** What only `src/` must keep: rooms that the plan knows, one owner per library, cheap assertions, purity. */
function inspectSource(file: SourceFile, rules: HouseRules): Breach[] {
  const roomName = roomOf(file.path)
  const room = rules.rooms[roomName]
  if (room === undefined) {
    return [{ kind: 'unknown-room', file: file.path, line: 1, message: `the floor plan has no room ${roomName}` }]
  }
  const breaches = file.imports.flatMap((imported) => inspectLibrary(file, imported, rules))
  for (const line of file.costlyAssertions) breaches.push({ kind: 'assertion', file: file.path, line, message: costly })
  return room.pure ? [...breaches, ...inspectPurity(file)] : breaches
}

function inspectLibrary(file: SourceFile, imported: SourceImport, rules: HouseRules): Breach[] {
  const { specifier, line } = imported
  if (specifier.startsWith('.') || isBuiltin(specifier)) return []
  const library = specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
  const owner = rules.libraryOwners[library]
  if (owner === file.path) return []
  const message =
    owner === undefined ? `no file of ours owns the library ${library}` : `${library} is imported by ${owner} only`
  return [{ kind: 'library', file: file.path, line, to: library, message }]
}

/** The page runs in a browser: of the broker it knows the typed client and nothing else. */
function inspectWebPage(file: SourceFile, page: NonNullable<HouseRules['webPage']>): Breach[] {
  const folder = `${page.folder}/`
  if (!file.path.startsWith(folder)) return []
  return file.imports.flatMap(({ specifier, line }): Breach[] => {
    if (specifier.startsWith('.')) {
      const to = normalize(join(dirname(file.path), specifier))
        .split(sep)
        .join('/')
      if (to.startsWith(folder) || page.entries.includes(to)) return []
      const message = `the web page imports ${page.entries.join(', ')} and nothing else of the broker`
      return [{ kind: 'web-page', file: file.path, line, to, message }]
    }
    const isAllowed = (owner: string): boolean =>
      file.path === owner || (owner.endsWith('/') && file.path.startsWith(owner))
    if ((page.libraries[specifier] ?? []).some(isAllowed)) return []
    const message = `${specifier} is not a library of this file of the web page`
    return [{ kind: 'web-page', file: file.path, line, to: specifier, message }]
  })
}

const worldlyNames = new Set([
  'Date', 'Promise', 'process', 'performance', 'crypto', 'console', 'fetch', 'globalThis', 'global', 'require',
  'setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate', 'queueMicrotask',
]) // oxfmt-ignore

function inspectPurity(file: SourceFile): Breach[] {
  const worldly = file.imports.filter(({ specifier, typeOnly }) => !specifier.startsWith('.') && !typeOnly)
  return [
    ...worldly.map(({ specifier, line }) => ({ name: `import of ${specifier}`, line })),
    ...file.names.filter(({ name }) => worldlyNames.has(name)),
    ...file.constructs,
  ].map(({ name, line }) => ({
    kind: 'impure',
    file: file.path,
    line,
    message: `a pure room has no ${name}: let it be handed in`,
  }))
}

function inspectEdge(edge: Edge, rules: HouseRules, sources: readonly SourceFile[]): Breach[] {
  const { from, to } = edge
  const say = (kind: BreachKind, message: string): Breach[] => [
    { kind, file: from.path, line: edge.imported.line, to, message },
  ]
  if (!sources.some((source) => source.path === to)) return say('missing-file', `${to} does not exist`)
  const here = roomOf(from.path)
  const there = roomOf(to)
  if (here === there) return inspectInnerFloor(edge, rules, say)
  const hereRules = rules.rooms[here]
  const thereRules = rules.rooms[there]
  // A file outside every room is reported once, as such.
  if (hereRules === undefined || thereRules === undefined) return []
  if (to !== `src/${there}/index.ts`)
    return say('back-door', `${there} is entered through its index.ts, not through ${to}`)
  if (thereRules.floor >= hereRules.floor)
    return say('floor', `${here} stands on floor ${hereRules.floor}, ${there} on ${thereRules.floor}: imports go down`)
  if (hereRules.pure && !thereRules.pure) return say('impure', `${here} is pure and imports ${there}, which is not`)
  return []
}

function inspectInnerFloor(
  edge: Edge,
  rules: HouseRules,
  say: (kind: BreachKind, message: string) => Breach[],
): Breach[] {
  const room = roomOf(edge.from.path)
  const floors = rules.innerFloors[room]
  if (floors === undefined) return []
  const from = innerFloorOf(edge.from.path, room, floors)
  const to = innerFloorOf(edge.to, room, floors)
  if (from === undefined) return say('unknown-room', `${edge.from.path} stands on no inner floor of ${room}`)
  if (to === undefined) return say('unknown-room', `${edge.to} stands on no inner floor of ${room}`)
  return to > from ? say('inner-floor', `${edge.to} is above it within ${room}`) : []
}

function innerFloorOf(path: string, room: string, floors: readonly (readonly string[])[]): number | undefined {
  const inside = path.slice(`src/${room}/`.length).replace(/\.ts$/, '')
  if (inside === 'index') return floors.length
  const floor = floors.findIndex((places) =>
    places.some((place) => (place.endsWith('/') ? inside.startsWith(place) : inside === place)),
  )
  return floor < 0 ? undefined : floor
}

/** One breach per circle, told at its alphabetically first file. */
function findCircles(edges: readonly Edge[]): Breach[] {
  const targets = new Map<string, string[]>()
  for (const { from, to } of edges) targets.set(from.path, [...(targets.get(from.path) ?? []), to])
  const circles = new Map<string, Breach>()
  const finished = new Set<string>()
  const visit = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path)
    if (at >= 0) {
      const circle = trail.slice(at)
      const file = circle.toSorted()[0] ?? path
      const message = `imports go in a circle: ${[...circle, path].join(' -> ')}`
      circles.set(circle.toSorted().join(' '), { kind: 'circle', file, line: 1, message })
    } else if (!finished.has(path)) {
      for (const target of targets.get(path) ?? []) visit(target, [...trail, path])
      finished.add(path)
    }
  }
  for (const path of targets.keys()) visit(path, [])
  return [...circles.values()]
}

function covers(exception: HouseException, breach: Breach): boolean {
  return (
    exception.kind === breach.kind &&
    exception.file === breach.file &&
    (exception.to === undefined || exception.to === breach.to)
  )
}

/** The list may only shrink: an exception that excuses nothing must go. */
function staleExceptions(rules: HouseRules, found: readonly Breach[]): Breach[] {
  return rules.exceptions
    .filter((exception) => !found.some((breach) => covers(exception, breach)))
    .map(({ kind, file, to }) => ({
      kind: 'stale-exception',
      file,
      line: 1,
      message: `the exception (${kind}${to === undefined ? '' : `, ${to}`}) excuses nothing any more: delete it`,
    }))
}

function edgesOf(from: SourceFile): Edge[] {
  return from.imports
    .filter(({ specifier }) => specifier.startsWith('.'))
    .map((imported) => ({
      from,
      to: normalize(join(dirname(from.path), imported.specifier))
        .split(sep)
        .join('/'),
      imported,
    }))
}

function roomOf(path: string): string {
  const [, room, inside] = path.split('/')
  return room !== undefined && inside !== undefined ? room : '(none)'
}

function readTree(root: string, folder: string): SourceFile[] {
  let entries
  try {
    entries = readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
  } catch (error) {
    // A small house has no test/ or bench/: nothing to inspect there.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
  return entries
    .filter(
      (entry) => entry.isFile() && /\.[cm]?[jt]sx?$/.test(entry.name) && !entry.parentPath.includes('node_modules'),
    )
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
    .map((path) => readSource(relative(root, path).split(sep).join('/'), readFileSync(path, 'utf8')))
}
