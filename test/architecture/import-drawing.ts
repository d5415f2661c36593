// Draws the imports between the modules, and between the folders of the modules that have layers, from the sources.

import { fileURLToPath } from 'node:url'
import { type ArchitectureRules, innerLayerOf, readImports } from './inspect-architecture.ts'
import type { FileImport } from './inspect-folders.ts'

const checkout = fileURLToPath(new URL('../../', import.meta.url))

export const drawingPath = `${checkout}docs/IMPORTS.md`

const introduction = `# Imports

Which module imports which, and which folder within \`core\`, \`shard\` and \`node\`. \`npm run generate\` writes this page from the sources, and a test compares them.

A row imports the columns with an \`x\`. Rows and columns have the same order, lowest layer first. A mark to the right of the diagonal (\`·\`) would be an import of a higher
layer: there is none. [Architecture](ARCHITECTURE.md) says what the modules and folders do.
`

/** Returns the page for the source tree below `root`. */
export function drawImports(root: string, rules: ArchitectureRules): string {
  const imports = readImports(root)
  const { modules, innerLayers } = rules
  const used = new Set(imports.map(({ from }) => moduleOf(from)))
  const names = Object.keys(modules)
    .filter((name) => used.has(name))
    .toSorted((left, right) => (modules[left]?.layer ?? 0) - (modules[right]?.layer ?? 0))
  const sections = Object.entries(innerLayers).map(([module, layers]) => {
    const layerOf = (path: string): number | undefined =>
      moduleOf(path) === module ? innerLayerOf(path, module, layers) : undefined
    const labels = layers.map((paths) => paths.map((path) => (path.endsWith('/') ? path : `${path}.ts`)).join(' '))
    return `## ${module}\n\n${matrix(labels, imports, layerOf)}`
  })
  const overview = matrix(names, imports, (path) => indexIn(names, moduleOf(path)))
  return [introduction, `## Modules\n\n${overview}`, ...sections].join('\n')
}

/** One line for each label; `indexOf` returns the line of a file. */
function matrix(
  labels: readonly string[],
  imports: readonly FileImport[],
  indexOf: (path: string) => number | undefined,
): string {
  const marks = labels.map(() => labels.map(() => ' '))
  for (const { from, to } of imports) {
    const row = marks[indexOf(from) ?? -1]
    const column = indexOf(to)
    if (row !== undefined && column !== undefined && column < row.length) row[column] = 'x'
  }
  const width = Math.max(...labels.map(({ length }) => length))
  const numbers = labels.map((_, index) => String(index + 1).padStart(2))
  const lines = labels.map((label, row) => {
    const cells = labels.map((_, column) => (column === row ? '·' : (marks[row]?.[column] ?? ' ')).padStart(2))
    return `${numbers[row]} ${label.padEnd(width)}  ${cells.join(' ')}`.trimEnd()
  })
  return ['```', `   ${' '.repeat(width)}  ${numbers.join(' ')}`, ...lines, '```', ''].join('\n')
}

function indexIn(names: readonly string[], name: string): number | undefined {
  const index = names.indexOf(name)
  return index < 0 ? undefined : index
}

function moduleOf(path: string): string {
  return path.split('/')[1] ?? ''
}
