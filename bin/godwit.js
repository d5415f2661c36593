#!/usr/bin/env node
// The command `godwit`. Plain JavaScript of long ago, so that even an old Node gets as far as the sentence that says
// which one is needed.

import { existsSync } from 'fs'

const neededMajor = 24
const major = Number(process.versions.node.split('.')[0])

if (major < neededMajor) {
  console.error(
    'godwit: needs Node ' +
      neededMajor +
      ' or newer, this is ' +
      process.version +
      '; in a checkout "npm start" and "npx godwit" bring their own after "npm ci"',
  )
  process.exitCode = 1
} else {
  // A checkout runs its sources as they are; an installed package has only what was built from them.
  const isCheckout = existsSync(new URL('../src/cli/main.ts', import.meta.url))
  import(isCheckout ? '../src/cli/main.ts' : '../dist/cli/main.js').catch(function (error) {
    console.error(error)
    process.exitCode = 1
  })
}
