// Folders of `src/` and `lib/`: which import each other, and how many files they have.

import { dirname } from 'node:path'
import type { SourceFile } from './source-file.ts'

export interface FolderRules {
  /** Maximum number of files in a folder whose files have different kinds: such a folder is a table of contents. */
  readonly maxFiles: number
  /** Folders in which each file is one of a kind, such as one endpoint or one setting. They may grow. Values name the kind, in the singular. */
  readonly kinds: Readonly<Record<string, string>>
  /** Modules in which folders still import each other in circles. The list may only shrink. */
  readonly circular: readonly string[]
}

/** An import from a file to a file; paths are relative to the checkout. */
export interface FileImport {
  readonly from: string
  readonly to: string
}

interface FolderProblem {
  readonly file: string
  readonly message: string
}

/** Returns the imports between folders of one module, without those of its entry point, as `from to`. */
export function importsBetweenFolders(imports: readonly FileImport[]): ReadonlyMap<string, ReadonlySet<string>> {
  const targets = new Map<string, Set<string>>()
  for (const { from, to } of imports) {
    const [, module] = from.split('/')
    if (to.split('/')[1] !== module || isEntryPoint(from) || isEntryPoint(to)) continue
    const [fromFolder, toFolder] = [dirname(from), dirname(to)]
    if (fromFolder === toFolder) continue
    const known = targets.get(fromFolder) ?? new Set()
    targets.set(fromFolder, known.add(toFolder))
  }
  return targets
}

/** `ordered`: modules whose folders have layers, which other rules check. */
export function inspectFolders(
  sources: readonly SourceFile[],
  { imports, rules, ordered }: { imports: readonly FileImport[]; rules: FolderRules; ordered: readonly string[] },
): FolderProblem[] {
  const groups = circularGroups(importsBetweenFolders(imports)).filter(
    ([first = '']) => !ordered.includes(moduleOf(first)),
  )
  const circular = new Set(groups.map(([first = '']) => moduleOf(first)))
  return [
    ...groups
      .filter(([first = '']) => !rules.circular.includes(moduleOf(first)))
      .map((group) => ({ file: group[0] ?? '', message: `folders import each other: ${group.join(', ')}` })),
    ...rules.circular
      .filter((module) => !circular.has(module))
      .map((module) => ({
        file: `src/${module}`,
        message: `${module} has no circular folders: remove it from the list`,
      })),
    ...inspectSizes(sources, rules),
  ]
}

function inspectSizes(sources: readonly SourceFile[], { maxFiles, kinds }: FolderRules): FolderProblem[] {
  const counts = new Map<string, number>()
  for (const { path } of sources) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1)
  return [
    ...[...counts]
      .filter(([folder, count]) => count > maxFiles && kinds[folder] === undefined)
      .map(([file, count]) => ({
        file,
        message: `${count} files of different kinds in a folder, at most ${maxFiles}: move those of one subject into a folder of their own; if each file is one of a kind (an endpoint, a setting), name the kind in \`folders.kinds\` of architecture-rules.ts`,
      })),
    ...Object.keys(kinds)
      .filter((folder) => !counts.has(folder))
      .map((folder) => ({ file: folder, message: 'the folder has no files: remove it from `folders.kinds`' })),
  ]
}

/** Returns the groups of folders that can be reached from each other, sorted (Tarjan's strongly connected components). */
function circularGroups(targets: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const stack: string[] = []
  const groups: string[][] = []
  const visit = (folder: string): number => {
    const own = order.size
    order.set(folder, own)
    lowest.set(folder, own)
    stack.push(folder)
    for (const target of targets.get(folder) ?? []) {
      if (!order.has(target)) lowest.set(folder, Math.min(lowest.get(folder) ?? own, visit(target)))
      else if (stack.includes(target)) lowest.set(folder, Math.min(lowest.get(folder) ?? own, order.get(target) ?? own))
    }
    const low = lowest.get(folder) ?? own
    if (low === own) {
      const group = stack.splice(stack.indexOf(folder))
      if (group.length > 1) groups.push(group.toSorted())
    }
    return low
  }
  for (const folder of targets.keys()) if (!order.has(folder)) visit(folder)
  return groups
}

function isEntryPoint(path: string): boolean {
  return path.split('/').length === 3 && path.endsWith('/index.ts')
}

function moduleOf(path: string): string {
  return path.split('/')[1] ?? ''
}
