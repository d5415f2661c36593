// Programs that use clients of other projects. Each is fetched and built when its toolchain is there.

import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { checkout } from '../jobs.ts'

const run = promisify(execFile)

/** Fetching and building take minutes the first time. */
const maxFetchMs = 600_000
const sources = join(checkout, 'test/interop')
const built = join(checkout, 'node_modules/.cache/interop')

/** A program with its first arguments, or why it cannot run here. */
export type Program = { readonly command: string; readonly words: readonly string[] } | { readonly missing: string }

interface Step {
  readonly command: string
  readonly words: readonly string[]
  readonly folder?: string
  readonly environment?: Readonly<Record<string, string>>
}

/** A failure is a reason to skip the program: there is no toolchain, or the registry of its packages cannot be reached. */
async function findMissing(steps: readonly Step[]): Promise<string | undefined> {
  for (const step of steps) {
    try {
      await runStep(step)
    } catch (error) {
      const { code, stderr = '' } = error as { code?: unknown; stderr?: string }
      if (code === 'ENOENT') return `${step.command} is not installed`
      const [last = ''] = stderr.trim().split('\n').slice(-1)
      return `${step.command} ${step.words.slice(0, 2).join(' ')} failed, so its packages cannot be fetched: ${last}`
    }
  }
  return undefined
}

async function runStep({ command, words, folder = sources, environment }: Step): Promise<void> {
  mkdirSync(built, { recursive: true })
  await run(command, words, { cwd: folder, timeout: maxFetchMs, env: { ...process.env, ...environment } })
}

export async function reference(): Promise<Program> {
  return { command: process.execPath, words: [join(sources, 'mqttjs/client.ts')] }
}

export async function pahoGo(): Promise<Program> {
  return buildGo('paho-go')
}

/** The code of the API server of Kubernetes for definitions of resources. */
export async function apiServer(): Promise<Program> {
  return buildGo('api-server')
}

async function buildGo(name: string): Promise<Program> {
  const folder = join(sources, name)
  const missing = await findMissing([{ command: 'go', words: ['mod', 'download'], folder }])
  if (missing !== undefined) return { missing }
  const program = join(built, name)
  await runStep({ command: 'go', words: ['build', '-o', program, '.'], folder })
  return { command: program, words: [] }
}

/** Gives the Python that has the packages of `requirements.txt`. */
export async function python(file: string): Promise<Program> {
  const folder = join(built, 'python')
  const interpreter = join(folder, 'bin/python')
  const requirements = join(sources, 'paho-python/requirements.txt')
  const steps: Step[] = [{ command: interpreter, words: ['-m', 'pip', 'install', '--quiet', '-r', requirements] }]
  if (!existsSync(interpreter)) steps.unshift({ command: 'python3', words: ['-m', 'venv', folder] })
  const missing = await findMissing(steps)
  return missing === undefined ? { command: interpreter, words: [join(sources, file)] } : { missing }
}

export async function rumqttc(): Promise<Program> {
  const folder = join(sources, 'rumqttc')
  const missing = await findMissing([{ command: 'cargo', words: ['fetch', '--locked', '--quiet'], folder }])
  if (missing !== undefined) return { missing }
  const environment = { CARGO_TARGET_DIR: join(built, 'rust') }
  await runStep({ command: 'cargo', words: ['build', '--locked', '--offline', '--quiet'], folder, environment })
  return { command: join(built, 'rust/debug/interop'), words: [] }
}

/** Compiles `Client.java` of a folder with the packages of its `pom.xml`. */
export async function java(name: string): Promise<Program> {
  const folder = join(sources, name)
  const list = join(built, `${name}.classpath`)
  const words = ['-q', '-B', 'dependency:build-classpath', `-Dmdep.outputFile=${list}`]
  const missing = await findMissing([
    { command: 'javac', words: ['-version'] },
    { command: 'mvn', words, folder },
  ])
  if (missing !== undefined) return { missing }
  const classes = join(built, name)
  const packages = readFileSync(list, 'utf8').trim()
  await runStep({ command: 'javac', words: ['-d', classes, '-cp', packages, 'Client.java'], folder })
  return { command: 'java', words: ['-Xmx256m', '-cp', `${classes}:${packages}`, 'Client'] }
}
