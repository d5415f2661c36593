// README.md: its commands, programs and configuration, word for word and in their order.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { IsolatedProcess } from '../e2e/isolated-machine.ts'
import { type Block, blocksOf, commandsOf, type PageReader, startReader, typedPassword } from './page-reader.ts'

const blocks = blocksOf('README.md')

/** Returns the block of the page that begins with this text. */
function blockWith(start: string): Block {
  return blocks.find(({ text }) => text.startsWith(start)) ?? assert.fail(`README.md has no block "${start}"`)
}

async function generatedPassword(broker: IsolatedProcess): Promise<string> {
  const [, password = ''] = await broker.until(/log in as +admin with (\S+)/)
  return password
}

/** `npm ci` needs the package registry, so `.ci/run` runs it; `npm test` is what runs this test. */
async function startAsDescribed(reader: PageReader): Promise<IsolatedProcess> {
  const commands = commandsOf(blockWith('npm ci'))
  assert.deepEqual(commands, ['npm ci && npm start', 'npm ci && npm test'])
  return reader.start('npm start')
}

async function administer(reader: PageReader, broker: IsolatedProcess): Promise<void> {
  const password = await generatedPassword(broker)
  for (const command of commandsOf(blockWith('godwit ctl status'))) {
    if (command.includes('--username')) await reader.runAndType(command, password)
    else await reader.run(command)
  }
  await broker.until(/restarting[^]*listening +mqtt:/)
  for (const command of commandsOf(blockWith('curl ')))
    assert.match(await reader.run(command.replace('curl', 'curl -sSf').replace('PASSWORD', password)), /"data":/)
  let archive = ''
  for (const command of commandsOf(blockWith('godwit ctl data export'))) {
    const output = await reader.run(command.replace(/godwit-export-\S+/, archive))
    archive = /exported to (\S+)\./.exec(output)?.[1] ?? archive
  }
}

async function sendFirstMessages(reader: PageReader): Promise<void> {
  const [subscribe = ''] = commandsOf(blockWith('mosquitto_sub'))
  const [publish = ''] = commandsOf(blockWith('mosquitto_pub'))
  const subscriber = await reader.subscribe(subscribe)
  const { text } = blockWith('import ')
  const program = await reader.subscribe(`node --input-type=module --eval "$(cat <<'END'\n${text}END\n)"`, 'birds/#')
  await reader.run(publish)
  await subscriber.until(/^birds\/godwit landed\r?$/m)
  await program.until(/^birds\/godwit landed\r?$/m)
}

/** The file, before what uses it. */
async function configure(reader: PageReader): Promise<void> {
  const commands = commandsOf(blockWith('godwit start --config my.conf'))
  const starts = commands.filter((command) => command.startsWith('godwit start'))
  assert.equal(starts.length, 2)
  for (const command of commands.filter((one) => !starts.includes(one))) await reader.run(command)
  for (const command of starts) {
    const broker = await reader.start(command)
    assert.equal(await broker.interrupt(), 0)
  }
}

async function secure(reader: PageReader): Promise<void> {
  await reader.run(commandsOf(blockWith('openssl')).join('\n'))
  const { text } = blockWith('listeners.tcp.enable')
  await reader.run(`cat > godwit.conf <<'END'\n${text}END\n`)
  const steps = commandsOf(blockWith('godwit config check godwit.conf'))
  assert.deepEqual(steps.length, 5)
  const [check = '', start = '', wait = '', add = '', publish = ''] = steps
  await reader.run(check)
  const broker = await reader.start(start)
  // What a display text can prevent: the password of the first start, readiness, and signals.
  await generatedPassword(broker)
  await reader.run(wait)
  await reader.runAndType(add)
  const asAnna = publish.replace('PASSWORD', `'${typedPassword}'`)
  await reader.run(asAnna)
  await assert.rejects(reader.run(asAnna.replace(typedPassword, 'wrong')))
  await assert.rejects(reader.run(asAnna.replace(/-u anna -P '[^']*'/, '')))
  await assert.rejects(reader.run('mosquitto_pub -h localhost -p 1883 -t anna/door -m open'), 'nothing without TLS')
  assert.equal(await broker.stop('SIGTERM'), 0)
}

test('README.md, word for word: start, first messages, administration', async (t) => {
  const reader = await startReader(t)
  if (reader === undefined) return
  const broker = await startAsDescribed(reader)
  await sendFirstMessages(reader)
  await administer(reader, broker)
  // "In the folder of the checkout, write `npx godwit`": without a registry, and with the Node that npm has installed.
  assert.match(await reader.run('npx godwit ctl status'), /running|version/i)
  await broker.interrupt()
  assert.match(broker.output, /stopping: /)
})

test('README.md, word for word: configuration, and a secure broker in five minutes', async (t) => {
  const reader = await startReader(t)
  if (reader === undefined) return
  reader.folder = reader.newFolder
  await configure(reader)
  await secure(reader)
})
