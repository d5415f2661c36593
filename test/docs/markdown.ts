// Reads the Markdown files of the repository: their links, headings and line widths, and the paths that they name.

import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

export const checkout = fileURLToPath(new URL('../../', import.meta.url))

/** A text in a file that is wrong, as it is reported. */
export interface Finding {
  readonly file: string
  readonly line: number
  readonly text: string
}

/** Returns the paths of all Markdown files but those of dependencies and of the build. */
export function markdownFiles(): string[] {
  const exclude = ['**/node_modules/**', '**/dist/**']
  return globSync(['*.md', '{bench,dashboard,deploy,docs,examples,release,src,test}/**/*.md'], {
    cwd: checkout,
    exclude,
  })
}

export function readPage(path: string): string {
  return readFileSync(join(checkout, path), 'utf8')
}

/** Returns the lines of a page; those of code blocks are empty. */
export function proseLines(text: string): string[] {
  let isCode = false
  return text.split('\n').map((line) => {
    const isFence = line.trimStart().startsWith('```')
    if (isFence) isCode = !isCode
    return isFence || isCode ? '' : line
  })
}

/** Returns the lines of prose with more than `maxWidth` characters. Rows of tables are not checked. */
export function findWideLines(file: string, text: string, maxWidth: number): Finding[] {
  return proseLines(text).flatMap((line, index) =>
    line.length <= maxWidth || line.startsWith('|') ? [] : [{ file, line: index + 1, text: line }],
  )
}

/** Returns the links of `file` whose file or heading does not exist. Links to other hosts are not followed. */
export function findDeadLinks(file: string, text: string, read: (path: string) => string | undefined): Finding[] {
  return proseLines(text).flatMap((line, index) =>
    [...line.replaceAll(/`[^`]*`/g, '').matchAll(/\[[^\]]*\]\(([^)\s]+)\)/g)]
      .map((match) => match[1])
      .filter((target) => !/^[a-z]+:/.test(target) && isDead(target))
      .map((target) => ({ file, line: index + 1, text: target })),
  )

  function isDead(target: string): boolean {
    const [path, anchor] = target.split('#')
    const page = path === '' ? text : read(normalize(join(dirname(file), path)))
    if (page === undefined) return true
    return anchor !== undefined && !anchorsOf(page).has(anchor)
  }
}

/** The anchors of the headings, as GitHub makes them. */
export function anchorsOf(text: string): Set<string> {
  const counts = new Map<string, number>()
  const anchors = new Set<string>()
  for (const line of proseLines(text)) {
    const [, heading] = /^#{1,6} (.+)$/.exec(line) ?? []
    if (heading === undefined) continue
    const slug = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-')
    const count = counts.get(slug) ?? 0
    counts.set(slug, count + 1)
    anchors.add(count === 0 ? slug : `${slug}-${count}`)
  }
  return anchors
}

/** Returns the paths of this repository in backticks that do not exist. Patterns and placeholders are not checked. */
export function findMissingPaths(file: string, text: string, exists: (path: string) => boolean): Finding[] {
  return proseLines(text).flatMap((line, index) =>
    [...line.matchAll(/`([^`\s]+)`/g)]
      .map((match) => match[1])
      .filter((path) => /^(?:src|test|docs|bench|dashboard|deploy|examples|release|bin|etc)\/[\w./-]*$/.test(path))
      .filter((path) => !exists(path))
      .map((path) => ({ file, line: index + 1, text: path })),
  )
}
