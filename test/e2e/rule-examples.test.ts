// docs/RULE_EXAMPLES.md: one broker runs the rules of all examples. Exactly the messages that the page lists are received.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import mqtt from 'mqtt'
import { shared, startBroker, temporaryFolder } from './godwit-process.ts'

const page = readFileSync(new URL('../../docs/RULE_EXAMPLES.md', import.meta.url), 'utf8')
const fence = (part: string, word: string): string => {
  const [, text] = new RegExp(`^\`\`\`${word}\\n([^]*?)\`\`\`$`, 'm').exec(part) ?? assert.fail(`no ${word} in ${part}`)
  return text
}
const examples = page
  .split(/^### \d+\. /m)
  .slice(1)
  .map((part) => ({
    title: part.slice(0, part.indexOf('\n')),
    conf: fence(part, 'conf'),
    publish: fence(part, 'text publish'),
    receive: fence(part, 'text receive'),
  }))

const rules = shared(async (scope) => {
  const config = join(await temporaryFolder(scope), 'godwit.conf')
  await writeFile(config, examples.map(({ conf }) => conf).join('\n'))
  return startBroker(scope, { config, set: ['node.shards=1'] })
})

async function connect(port: number, clientId: string): Promise<mqtt.MqttClient> {
  return mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, {
    clientId,
    username: 'anna',
    password: 'x',
    reconnectPeriod: 0,
  })
}

suite('examples of docs/RULE_EXAMPLES.md', () => {
  test('all sections are examples', () => {
    assert.equal(examples.length, page.match(/^### /gm)?.length)
    assert.ok(examples.length >= 20)
  })

  for (const { title, publish, receive } of examples) {
    test(title, async (t) => {
      const { port } = await rules()
      const subscriber = await connect(port, 'subscriber')
      t.after(() => subscriber.endAsync())
      const received: string[] = []
      const done = Promise.withResolvers<void>()
      subscriber.on('message', (topic, payload) => {
        if (topic === 'end') done.resolve()
        else received.push(`${topic} ${payload.toString()}`)
      })
      const expected = receive.trimEnd().split('\n')
      const firstLevels = new Set(expected.map((line) => line.split(/[/ ]/)[0]))
      await subscriber.subscribeAsync(['end', ...Array.from(firstLevels, (level) => `${level}/#`)], { qos: 1 })
      const publisher = await connect(port, 'example')
      t.after(() => publisher.endAsync())
      const others = new Map<string, mqtt.MqttClient>()
      for (const line of publish.trimEnd().split('\n')) {
        const [, first, rest] = /^(\S+) (.*)$/.exec(line) ?? assert.fail(line)
        if (first === 'connect') others.set(rest, await connect(port, rest))
        else if (first === 'disconnect') await others.get(rest)?.endAsync()
        else {
          const payload = rest.startsWith('hex:') ? Buffer.from(rest.slice(4), 'hex') : rest
          await publisher.publishAsync(first, payload, { qos: 1 })
        }
      }
      // A rule for an event may run shortly after the event.
      while (received.length < expected.length) await publisher.publishAsync('nothing', '', { qos: 1 })
      await publisher.publishAsync('end', '', { qos: 1 })
      await done.promise
      assert.deepEqual(received, expected)
    })
  }
})
