// Collects the licence texts of installed packages.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

export interface LicensedPackage {
  readonly name: string
  readonly version: string
  /** SPDX identifier. */
  readonly licence: string
}

const licenceFile = /^(licen[cs]e|copying|notice)/i
/** Copyright lines of packages that name their licence (MIT) but do not contain its text. */
const withoutText: Readonly<Record<string, string>> = {
  'abstract-logging': 'Copyright (c) James Sumners',
}

const mit = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`

/** Returns the licence texts of `packages`, one after the other. Throws if a package is not installed or has no text. */
export function licenceTexts(checkout: string, packages: readonly LicensedPackage[]): string {
  const folders = foldersOf(checkout)
  const sections = packages.map((one) => {
    const title = `${one.name}@${one.version} (${one.licence})`
    const folder = folders.get(`${one.name}@${one.version}`)
    if (folder === undefined) throw new Error(`${title} is not installed: run npm ci`)
    return [title, '='.repeat(title.length), '', ...textsIn(join(checkout, folder), one)].join('\n')
  })
  return ['Packages that Godwit needs when it runs, with their licences.', ...sections].join('\n\n\n').concat('\n')
}

/** Returns the folders of installed packages by `name@version`, from package-lock.json. */
function foldersOf(checkout: string): Map<string, string> {
  const { packages } = JSON.parse(readFileSync(join(checkout, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { name?: string; version?: string }>
  }
  const folders = new Map<string, string>()
  for (const [folder, { name, version }] of Object.entries(packages)) {
    const found = name ?? folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length)
    const key = `${found}@${version}`
    if (!folders.has(key)) folders.set(key, folder)
  }
  return folders
}

function textsIn(folder: string, { name, licence }: LicensedPackage): string[] {
  const files = [...licenceFiles(folder), ...licenceFiles(join(folder, 'deps'), 3)]
  if (files.length > 0) return [files.map((path) => `${relative(folder, path)}:\n\n${textOf(path)}`).join('\n\n')]
  const copyright = withoutText[name]
  if (copyright === undefined || licence !== 'MIT')
    throw new Error(`${name} comes without the text of its licence ${licence}`)
  return [`${copyright}\n\n${mit}`]
}

function textOf(path: string): string {
  return readFileSync(path, 'utf8').replaceAll('\r\n', '\n').trim()
}

/** Returns the licence files of a folder and of its subfolders down to `depth`: these contain foreign sources that are compiled in. */
function licenceFiles(folder: string, depth = 0): string[] {
  if (!existsSync(folder)) return []
  const found: string[] = []
  for (const entry of readdirSync(folder, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name)
    if (entry.isFile() && licenceFile.test(entry.name)) found.push(path)
    if (entry.isDirectory() && depth > 0) found.push(...licenceFiles(path, depth - 1))
  }
  return found
}
