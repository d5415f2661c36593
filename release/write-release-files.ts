// `npm run release:sbom`, and part of `npm pack`: writes the files about the packages that a release needs.
//
//   sbom.cdx.json          CycloneDX, made by `npm sbom` from package-lock.json
//   THIRD-PARTY-LICENSES   the licence texts of the same packages
//
// The same package-lock.json gives the same bytes. `npm sbom --omit dev` is not used, because it omits packages that development
// dependencies need as well (npm 11.19).

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { licenceTexts } from './licence-texts.ts'

const checkout = fileURLToPath(new URL('../', import.meta.url))
/** Licences that a dependency may have. Each allows distribution within a package under Apache-2.0, with its text. */
const allowedLicences = new Set(['Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT'])

/** Development dependencies that the package contains, because the files of the dashboard include their code. */
const bundled = new Set(['@preact/signals', 'preact', 'uplot'])

interface Component {
  'bom-ref': string
  name: string
  version: string
  licenses?: readonly { license?: { id?: string } }[]
}

interface Sbom {
  serialNumber: string
  metadata: {
    timestamp?: string
    tools: { version?: string }[]
    component: Component
  }
  components: Component[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly dependencies: Record<string, string>
}

const manifest = JSON.parse(readFileSync(`${checkout}package.json`, 'utf8')) as Manifest
const sbom = runtimeSbom(readSbom())
writeFileSync(`${checkout}sbom.cdx.json`, `${JSON.stringify(sbom, undefined, 2)}\n`)
writeFileSync(`${checkout}THIRD-PARTY-LICENSES`, licenceTexts(checkout, sbom.components.map(packageOf)))

function readSbom(): Sbom {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only']
  // npm sets this variable to its own path for the scripts that it runs.
  const npm = process.env.npm_execpath
  const [command, first] = npm === undefined ? ['npm', []] : [process.execPath, [npm]]
  const text = execFileSync(command, [...first, ...args], {
    cwd: checkout,
    encoding: 'utf8',
    maxBuffer: 64 * 1_024 * 1_024,
  })
  return JSON.parse(text) as Sbom
}

/** Returns the SBOM with runtime dependencies only, and without values that differ between two builds. */
function runtimeSbom(all: Sbom): Sbom {
  const needed = runtimeReferences(all)
  const root = all.metadata.component['bom-ref']
  const { metadata } = all
  delete metadata.timestamp
  for (const tool of metadata.tools) delete tool.version
  // npm writes the name of the folder.
  metadata.component.name = manifest.name
  const components = all.components.filter((component) => needed.has(component['bom-ref'])).toSorted(byReference)
  const dependencies = all.dependencies
    .filter(({ ref }) => ref === root || needed.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => needed.has(other)).toSorted() }))
    .toSorted((one, other) => (one.ref < other.ref ? -1 : 1))
  const content = { ...all, serialNumber: '', metadata, components, dependencies }
  return { ...content, serialNumber: `urn:uuid:${uuidOf(JSON.stringify(content))}` }
}

function byReference(one: Component, other: Component): number {
  return one['bom-ref'] < other['bom-ref'] ? -1 : 1
}

/** Returns all direct and indirect dependencies of `dependencies` in the manifest and of the bundled packages. */
function runtimeReferences({ metadata, dependencies }: Sbom): Set<string> {
  const dependsOn = new Map(dependencies.map((one) => [one.ref, one.dependsOn]))
  const direct = dependsOn.get(metadata.component['bom-ref']) ?? []
  const waiting = direct.filter((ref) => nameOf(ref) in manifest.dependencies || bundled.has(nameOf(ref)))
  const needed = new Set<string>()
  for (let ref = waiting.pop(); ref !== undefined; ref = waiting.pop()) {
    if (needed.has(ref)) continue
    needed.add(ref)
    waiting.push(...(dependsOn.get(ref) ?? []))
  }
  return needed
}

/** The package name of `name@version`. */
function nameOf(ref: string): string {
  return ref.slice(0, ref.lastIndexOf('@'))
}

function packageOf({ name, version, licenses }: Component): { name: string; version: string; licence: string } {
  const licence = licenses?.length === 1 ? licenses[0]?.license?.id : undefined
  if (licence === undefined || !allowedLicences.has(licence)) {
    throw new Error(
      `${name}@${version} has the licence ${JSON.stringify(licenses)}: add it to allowedLicences if it is compatible`,
    )
  }
  return { name, version, licence }
}

/** Returns a UUID (version 8) that is a hash of the text. */
function uuidOf(text: string): string {
  const digits = createHash('sha256').update(text).digest('hex')
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-8${digits.slice(13, 16)}-8${digits.slice(17, 20)}-${digits.slice(20, 32)}`
}
