// Compares a source tree with the architecture rules. All rules are parameters, so that tests can check a small source
// tree with one violation.

import { readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { basename, dirname, join, normalize, relative, sep } from 'node:path'
import {
  inspectParameters,
  inspectWholeState,
  type ParameterRules,
  type WholeStateRules,
} from './inspect-parameters.ts'
import { type FileImport, type FolderRules, inspectFolders } from './inspect-folders.ts'
import { readSource, type SourceFile, type SourceImport } from './source-file.ts'

export type ViolationKind =
  | 'unknown-module'
  | 'layer'
  | 'importer'
  | 'inner-layer'
  | 'entry-point'
  | 'definition'
  | 'missing-file'
  | 'cycle'
  | 'folder'
  | 'long-file'
  | 'long-function'
  | 'parameters'
  | 'whole-state'
  | 'file-name'
  | 'library'
  | 'web-page'
  | 'impure'
  | 'assertion'
  | 'syntax'
  | 'stale-exception'

export interface Violation {
  readonly kind: ViolationKind
  readonly file: string
  readonly line: number
  /** The imported file, if the violation is an import. */
  readonly to?: string
  readonly message: string
}

export interface ArchitectureException {
  readonly kind: ViolationKind
  readonly file: string
  readonly to?: string
  readonly reason: string
}

export interface ArchitectureRules {
  readonly modules: Readonly<Record<string, { readonly layer: number; readonly pure: boolean }>>
  readonly innerLayers: Readonly<Record<string, readonly (readonly string[])[]>>
  /** Modules that only these files and folders import. */
  readonly importers?: Readonly<Record<string, readonly string[]>>
  /** Files besides `index.ts` that other modules import. */
  readonly furtherEntryPoints?: readonly string[]
  /** Files that import only each other and these modules, so that other programs can import them without the rest of their module. */
  readonly definitions?: { readonly files: RegExp; readonly modules: readonly string[] }
  readonly libraryOwners: Readonly<Record<string, string | readonly string[]>>
  /** The dashboard: which files of `src/` it imports, and which of its files import each library. */
  readonly webPage?: {
    readonly folder: string
    readonly entries: readonly string[]
    readonly libraries: Readonly<Record<string, readonly string[]>>
  }
  readonly folders?: FolderRules
  readonly fileLines: FileLengths
  readonly maxFunctionLines: number
  readonly parameters?: ParameterRules
  readonly wholeState?: WholeStateRules
  readonly forbiddenFileNames: readonly string[]
  readonly exceptions: readonly ArchitectureException[]
}

export interface FileLengths {
  /** Longer files are listed, so that they are divided before they are full. */
  readonly warnAbove: number
  /** Longer files are violations. */
  readonly max: number
}

interface Edge {
  readonly from: SourceFile
  readonly to: string
  readonly imported: SourceImport
}

/** Checks `src/` and `lib/` below `root`; also names and lengths of files in `test/`, `bench/` and `bin/`. */
export function inspectArchitecture(root: string, rules: ArchitectureRules): Violation[] {
  const { webPage } = rules
  const folders = ['src', 'lib', 'test', 'bench', 'bin', ...(webPage === undefined ? [] : [webPage.folder])]
  const files = folders.flatMap((folder) => readTree(root, folder))
  const sources = files.filter((file) => isSource(file.path))
  const edges = sources.flatMap(edgesOf)
  const found = [
    ...files.flatMap((file) => inspectFile(file, rules)),
    ...sources.flatMap((file) => inspectSource(file, rules)),
    ...edges.flatMap((edge) => inspectEdge(edge, rules, sources)),
    ...(webPage === undefined ? [] : files.flatMap((file) => inspectWebPage(file, webPage))),
    ...(rules.parameters === undefined ? [] : inspectParameters(sources, rules.parameters)),
    ...(rules.folders === undefined ? [] : folderViolations(sources, edges, rules, rules.folders)),
    ...(rules.wholeState === undefined ? [] : inspectWholeState(sources, rules.wholeState)),
  ]
  const isExcepted = (violation: Violation): boolean =>
    rules.exceptions.some((exception) => covers(exception, violation))
  const exceptedEdges = new Set(found.filter(isExcepted).map((violation) => `${violation.file} ${violation.to}`))
  const kept = edges.filter((edge) => !exceptedEdges.has(`${edge.from.path} ${edge.to}`))
  const all = [...found, ...findCycles(kept)]
  return [...all.filter((violation) => !isExcepted(violation)), ...staleExceptions(rules, all)]
}

/** Returns the files of `src/` and `lib/` that are still allowed but long, the longest first, as `lines path`. */
export function listLongFiles(root: string, { warnAbove }: FileLengths): string[] {
  return ['src', 'lib']
    .flatMap((folder) => readTree(root, folder))
    .filter(({ lines }) => lines > warnAbove)
    .toSorted((a, b) => b.lines - a.lines)
    .map(({ lines, path }) => `${lines} ${path}`)
}

/** Returns the imports between files of `src/` and `lib/`. */
export function readImports(root: string): FileImport[] {
  return ['src', 'lib']
    .flatMap((folder) => readTree(root, folder))
    .flatMap(edgesOf)
    .map(({ from, to }) => ({ from: from.path, to }))
}

function folderViolations(
  sources: readonly SourceFile[],
  edges: readonly Edge[],
  { innerLayers }: ArchitectureRules,
  rules: FolderRules,
): Violation[] {
  const imports = edges.map(({ from, to }) => ({ from: from.path, to }))
  return inspectFolders(sources, { imports, rules, ordered: Object.keys(innerLayers) }).map(({ file, message }) => ({
    kind: 'folder',
    file,
    line: 1,
    message,
  }))
}

function inspectFile(file: SourceFile, rules: ArchitectureRules): Violation[] {
  const violations: Violation[] = []
  const report = (kind: ViolationKind, message: string, line = 1): number =>
    violations.push({ kind, file: file.path, line, message })
  const name = basename(file.path).replace(/(\.test)?\.[a-z]+$/, '')
  if (rules.forbiddenFileNames.includes(name))
    report('file-name', `a file named ${name}: name it after its main export`)
  const { max } = rules.fileLines
  if (file.lines > max)
    report(
      'long-file',
      `${file.lines} lines, at most ${max}: find the subjects in it and give each a file; lines that are cut elsewhere to fit are no division`,
    )
  for (const error of file.syntaxErrors) report('syntax', error)
  // The callback of a test suite is a list of tests: in test/ only the length of files is limited.
  if (file.path.startsWith('test/')) return violations
  for (const { name: functionName, lines, line } of file.functions) {
    if (lines > rules.maxFunctionLines)
      report('long-function', `${functionName} has ${lines} lines, at most ${rules.maxFunctionLines}`, line)
  }
  return violations
}

const costly = 'this assertion builds its message at every call: throw failedAssertion(...) instead'

/** Rules for `src/` and `lib/` only: known modules, one owner per library, assertions with constant messages, purity. */
function inspectSource(file: SourceFile, rules: ArchitectureRules): Violation[] {
  const name = moduleOf(file.path)
  const module = rules.modules[name]
  if (module === undefined) {
    return [{ kind: 'unknown-module', file: file.path, line: 1, message: `the rules have no module ${name}` }]
  }
  const violations = file.imports.flatMap((imported) => inspectLibrary(file, imported, rules))
  for (const line of file.costlyAssertions)
    violations.push({ kind: 'assertion', file: file.path, line, message: costly })
  return module.pure ? [...violations, ...inspectPurity(file)] : violations
}

function inspectLibrary(file: SourceFile, imported: SourceImport, rules: ArchitectureRules): Violation[] {
  const { specifier, line } = imported
  if (specifier.startsWith('.') || isBuiltin(specifier)) return []
  const library = specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
  const owners = [rules.libraryOwners[library] ?? []].flat()
  if (owners.includes(file.path)) return []
  const message =
    owners.length === 0
      ? `no file owns the library ${library}`
      : `${library} is imported by ${owners.join(' and ')} only`
  return [{ kind: 'library', file: file.path, line, to: library, message }]
}

/** The dashboard runs in a browser: it imports only the listed entries from the broker. */
function inspectWebPage(file: SourceFile, page: NonNullable<ArchitectureRules['webPage']>): Violation[] {
  const folder = `${page.folder}/`
  if (!file.path.startsWith(folder)) return []
  return file.imports.flatMap(({ specifier, line }): Violation[] => {
    if (specifier.startsWith('.')) {
      const to = normalize(join(dirname(file.path), specifier))
        .split(sep)
        .join('/')
      if (to.startsWith(folder) || page.entries.includes(to)) return []
      const message = `the dashboard imports only ${page.entries.join(', ')} from the broker`
      return [{ kind: 'web-page', file: file.path, line, to, message }]
    }
    const isAllowed = (owner: string): boolean =>
      file.path === owner || (owner.endsWith('/') && file.path.startsWith(owner))
    if ((page.libraries[specifier] ?? []).some(isAllowed)) return []
    const message = `this file of the dashboard does not own the library ${specifier}`
    return [{ kind: 'web-page', file: file.path, line, to: specifier, message }]
  })
}

const impureNames = new Set([
  'Date', 'Promise', 'process', 'performance', 'crypto', 'console', 'fetch', 'globalThis', 'global', 'require',
  'setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate', 'queueMicrotask',
]) // oxfmt-ignore

function inspectPurity(file: SourceFile): Violation[] {
  const impureImports = file.imports.filter(({ specifier, typeOnly }) => !specifier.startsWith('.') && !typeOnly)
  return [
    ...impureImports.map(({ specifier, line }) => ({ name: `import of ${specifier}`, line })),
    ...file.names.filter(({ name }) => impureNames.has(name)),
    ...file.constructs,
  ].map(({ name, line }) => ({
    kind: 'impure',
    file: file.path,
    line,
    message: `a pure module has no ${name}: make it a parameter`,
  }))
}

function inspectEdge(edge: Edge, rules: ArchitectureRules, sources: readonly SourceFile[]): Violation[] {
  const { from, to } = edge
  const report = (kind: ViolationKind, message: string): Violation[] => [
    { kind, file: from.path, line: edge.imported.line, to, message },
  ]
  if (!sources.some((source) => source.path === to)) return report('missing-file', `${to} does not exist`)
  const importing = moduleOf(from.path)
  const imported = moduleOf(to)
  const { definitions, furtherEntryPoints = [] } = rules
  if (
    definitions?.files.test(from.path) === true &&
    !definitions.files.test(to) &&
    !definitions.modules.includes(imported)
  )
    return report(
      'definition',
      `${from.path} is a definition: it imports only ${definitions.modules.join(', ')} and other definitions`,
    )
  if (importing === imported) return inspectInnerLayer(edge, rules, report)
  const importingRules = rules.modules[importing]
  const importedRules = rules.modules[imported]
  // A file outside of all modules is reported once, as unknown module.
  if (importingRules === undefined || importedRules === undefined) return []
  const entryPoint = `${to.split('/')[0]}/${imported}/index.ts`
  if (to !== entryPoint && !furtherEntryPoints.includes(to))
    return report('entry-point', `import ${entryPoint}, not ${to}`)
  if (importedRules.layer >= importingRules.layer)
    return report(
      'layer',
      `${importing} is in layer ${importingRules.layer}, ${imported} in ${importedRules.layer}: import lower layers only`,
    )
  const importers = rules.importers?.[imported]
  if (importers !== undefined && !importers.some((path) => from.path.startsWith(path)))
    return report('importer', `${imported} is imported by ${importers.join(', ')} only`)
  // Types have no effect when the program runs.
  if (importingRules.pure && !importedRules.pure && !edge.imported.typeOnly)
    return report('impure', `${importing} is pure and imports ${imported}, which is not`)
  return []
}

function inspectInnerLayer(
  edge: Edge,
  rules: ArchitectureRules,
  report: (kind: ViolationKind, message: string) => Violation[],
): Violation[] {
  const module = moduleOf(edge.from.path)
  const layers = rules.innerLayers[module]
  if (layers === undefined) return []
  const from = innerLayerOf(edge.from.path, module, layers)
  const to = innerLayerOf(edge.to, module, layers)
  if (from === undefined) return report('unknown-module', `${edge.from.path} is in no layer of ${module}`)
  if (to === undefined) return report('unknown-module', `${edge.to} is in no layer of ${module}`)
  return to > from ? report('inner-layer', `${edge.to} is in a higher layer of ${module}`) : []
}

/** Returns the index of the layer of a file within its module; undefined: it has none. The entry point comes after the last one. */
export function innerLayerOf(path: string, module: string, layers: readonly (readonly string[])[]): number | undefined {
  const inside = path.slice(path.indexOf(`${module}/`) + module.length + 1).replace(/\.ts$/, '')
  if (inside === 'index') return layers.length
  const layer = layers.findIndex((paths) =>
    paths.some((path) => (path.endsWith('/') ? inside.startsWith(path) : inside === path)),
  )
  return layer < 0 ? undefined : layer
}

/** Returns one violation per cycle, at its alphabetically first file. */
function findCycles(edges: readonly Edge[]): Violation[] {
  const targets = new Map<string, string[]>()
  for (const { from, to } of edges) targets.set(from.path, [...(targets.get(from.path) ?? []), to])
  const cycles = new Map<string, Violation>()
  const finished = new Set<string>()
  const visit = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path)
    if (at >= 0) {
      const cycle = trail.slice(at)
      const file = cycle.toSorted()[0] ?? path
      const message = `cycle of imports: ${[...cycle, path].join(' -> ')}`
      cycles.set(cycle.toSorted().join(' '), { kind: 'cycle', file, line: 1, message })
    } else if (!finished.has(path)) {
      for (const target of targets.get(path) ?? []) visit(target, [...trail, path])
      finished.add(path)
    }
  }
  for (const path of targets.keys()) visit(path, [])
  return [...cycles.values()]
}

function covers(exception: ArchitectureException, violation: Violation): boolean {
  return (
    exception.kind === violation.kind &&
    exception.file === violation.file &&
    (exception.to === undefined || exception.to === violation.to)
  )
}

/** The list of exceptions may only shrink: an unused exception is a violation. */
function staleExceptions(rules: ArchitectureRules, found: readonly Violation[]): Violation[] {
  return rules.exceptions
    .filter((exception) => !found.some((violation) => covers(exception, violation)))
    .map(({ kind, file, to }) => ({
      kind: 'stale-exception',
      file,
      line: 1,
      message: `the exception (${kind}${to === undefined ? '' : `, ${to}`}) is unused: delete it`,
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

function isSource(path: string): boolean {
  return path.startsWith('src/') || path.startsWith('lib/')
}

function moduleOf(path: string): string {
  const [, module, inside] = path.split('/')
  return module !== undefined && inside !== undefined ? module : '(none)'
}

function readTree(root: string, folder: string): SourceFile[] {
  let entries
  try {
    entries = readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
  } catch (error) {
    // The source trees of tests have no test/ or bench/.
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
