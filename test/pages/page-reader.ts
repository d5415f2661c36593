// Runs the commands of a page word for word, on a machine of their own: default ports, all addresses, an empty home, and the oldest Node that the
// README promises. Changes of the checkout, of /etc and of /var/lib are in memory and end with the machine.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { eventually } from '../e2e/eventually.ts'
import { fastStart } from '../e2e/godwit-process.ts'
import { type IsolatedMachine, type IsolatedProcess, startIsolatedMachine } from '../e2e/isolated-machine.ts'

export const checkout = fileURLToPath(new URL('../../', import.meta.url))
/** Oldest Node that README.md promises for npm and for programs of examples. Godwit brings its own. */
const promisedMajor = 20
/** Each command of a page ends within this time, or the page is wrong. */
const limitSeconds = 120
/** What a reader types where a command asks for a password. */
export const typedPassword = 'correct horse 7'

export interface Block {
  /** The language of the fence. */
  readonly word: string
  readonly text: string
}

/** The fenced blocks of a page, in order, without indentation. */
export function blocksOf(page: string): Block[] {
  const text = readFileSync(join(checkout, page), 'utf8')
  return Array.from(text.matchAll(/^( *)```([a-z]*)\n(.*?)^ *```$/gms), ([, indent = '', word = '', content = '']) => ({
    word,
    text: content.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }))
}

/** The commands of a block, each with its continuation lines, without comments. */
export function commandsOf({ word, text }: Block): string[] {
  if (word !== 'sh') return []
  const commands: string[] = []
  let open = ''
  for (const line of text.split('\n')) {
    const command = line.replace(/(^|\s)#\s.*$/, '').trim()
    if (command === '') continue
    open = open === '' ? command : `${open}\n${command}`
    if (open.startsWith('{') && !open.includes('}')) continue
    commands.push(open)
    open = ''
  }
  return commands
}

/** Returns the folder of the Node of `promisedMajor`, if the machine has one. */
function folderOfPromisedNode(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => existsSync(join(folder, 'node')))
  return folders.find((folder) =>
    execFileSync(join(folder, 'node'), ['--version'], { encoding: 'utf8' }).startsWith(`v${promisedMajor}.`),
  )
}

/** Returns a command by which changes of the folder are in memory. */
function overlayIn(folder: string, name: string): string {
  const options = `lowerdir=${folder},upperdir=/mnt/${name},workdir=/mnt/${name}.work`
  return `mkdir /mnt/${name} /mnt/${name}.work && mount -t overlay overlay -o '${options}' '${folder}'`
}

async function succeeded(command: string, running: IsolatedProcess): Promise<void> {
  const code = await running.ended
  assert.equal(code, 0, `${command}\n${running.output}\n${running.errors}`)
}

/** Starts the machine of a reader; undefined: there is none here, which the test shows. */
export async function startReader(t: TestContext): Promise<PageReader | undefined> {
  const machine = await startIsolatedMachine(t)
  return machine === undefined ? undefined : PageReader.start(t, machine)
}

export class PageReader {
  /** An empty folder. */
  readonly newFolder = '/mnt/work'
  /** Where the reader is. */
  folder = checkout
  readonly #machine: IsolatedMachine
  readonly #environment: NodeJS.ProcessEnv
  /** What the reader's shell has exported. */
  #exports = ''

  private constructor(machine: IsolatedMachine, environment: NodeJS.ProcessEnv) {
    this.#machine = machine
    this.#environment = environment
  }

  static async start(t: TestContext, machine: IsolatedMachine): Promise<PageReader> {
    const node = folderOfPromisedNode()
    if (node === undefined) t.diagnostic(`NOT RUN on Node ${promisedMajor}: none is in PATH; run on ${process.version}`)
    const system = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
    const inherited = Object.entries(process.env).filter(([name]) => !/^(npm_|CI$|TMPDIR$|GODWIT_DATA$)/i.test(name))
    const environment = {
      ...Object.fromEntries(inherited),
      ...fastStart,
      NODE_OPTIONS: '',
      HOME: '/mnt/home',
      PATH: ['/mnt/bin', node ?? join(process.execPath, '..'), system].join(delimiter),
    }
    // As `npx godwit`, which puts the programs that npm has installed first, in less time.
    const program = `PATH="${checkout}node_modules/.bin:$PATH" exec node "${checkout}bin/godwit.js" "$@"`
    const prepare = [
      'mount -t tmpfs none /mnt',
      'mkdir /mnt/home /mnt/bin /mnt/work',
      overlayIn(checkout, 'checkout'),
      overlayIn('/etc', 'etc'),
      overlayIn('/var/lib', 'state'),
      'mkdir -p /var/lib/godwit',
      'echo 127.0.0.1 localhost broker broker.example > /etc/hosts',
      `printf '#!/bin/sh\\n%s\\n' '${program}' > /mnt/bin/godwit`,
      'chmod 755 /mnt/bin/godwit',
    ]
    await machine.complete(prepare.join(' && '), environment)
    return new PageReader(machine, environment)
  }

  /** Runs a command. Returns its output; fails if it fails. */
  async run(command: string): Promise<string> {
    const running = this.#start(`timeout ${limitSeconds} bash -c "$COMMAND"`, command)
    running.child.stdin?.end()
    await succeeded(command, running)
    if (command.startsWith('export ')) this.#exports += `${command}\n`
    return running.output
  }

  /** Runs a command on a terminal, and types the password each time that it asks. */
  async runAndType(command: string, password = typedPassword): Promise<string> {
    const running = this.#start(`timeout ${limitSeconds} script -qefc "$COMMAND" /dev/null`, command)
    await running.until(/[Pp]assword[^\n]*: ?/)
    running.child.stdin?.write(`${password}\r`)
    await succeeded(command, running)
    assert.doesNotMatch(running.output, new RegExp(password), `${command} shows the password`)
    return running.output
  }

  /** Runs a command that goes on, on a terminal. */
  background(command: string): IsolatedProcess {
    return this.#start('script -qefc "$COMMAND" /dev/null', command.replace(/\s*&$/, ''))
  }

  /** Starts a broker with a command of a page, and waits until it serves. */
  async start(command: string): Promise<IsolatedProcess> {
    const broker = this.#start('bash -c "$COMMAND"', command.replace(/\s*&$/, ''))
    await broker.until(/listening +\S+:\/\//)
    return broker
  }

  /** Starts a subscriber, and waits until the broker has its subscription. */
  async subscribe(command: string, filter = /-t '?([^\s']+)/.exec(command)?.[1] ?? ''): Promise<IsolatedProcess> {
    const subscriptions = async (): Promise<number> =>
      (await this.run('godwit ctl subscriptions list')).split(filter).length
    const before = await subscriptions()
    const subscriber = this.background(command)
    await eventually(async () => assert.ok((await subscriptions()) > before, command))
    return subscriber
  }

  /** A session of its own, so that ^C reaches all its processes. */
  #start(script: string, command: string): IsolatedProcess {
    return this.#machine.run(
      `exec setsid ${script}`,
      { ...this.#environment, COMMAND: this.#exports + command },
      this.folder,
    )
  }
}
