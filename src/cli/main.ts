// The beginning of the process. bin/godwit.js has made sure of the Node that runs it.

import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { runProgram } from './program.ts'
import { Terminal, shouldUseColors } from './terminal/terminal.ts'

// src/cli/ and dist/cli/ lie equally deep.
const root = fileURLToPath(new URL('../../', import.meta.url))
const isCheckout = existsSync(`${root}src`)
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { version: string }

// A reader that went away (`godwit start | head -1`) is not a reason to stop serving.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

process.exitCode = await runProgram(
  process.argv.slice(2),
  {
    version,
    installation: { root, isCheckout, ...(isCheckout ? {} : { systemConfig: '/etc/godwit/godwit.conf' }) },
    environment: process.env,
  },
  new Terminal(process.stdout, process.stderr, process.stdin, shouldUseColors(process.stdout, process.env)),
)

// A broker has closed everything here. A reader of its output that does not read must not keep the process from ending.
const outputFlushMs = 1_000
if (process.argv[2] === 'start') setTimeout(() => process.exit(), outputFlushMs).unref()
