import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inspectCommit } from './inspect-commit.ts'

const body = '\n\nLoops of delayed messages grew to the limit of the node.\n'

describe('the message of a commit', () => {
  for (const subject of ['core: end loops of delayed messages', 'node/api, contract: return 403 for other namespaces'])
    test(`may be "${subject}"`, () => assert.deepEqual(inspectCommit(subject + body), []))

  const refused: [message: string, problem: RegExp][] = [
    [`core: end loops of ${'delayed '.repeat(8)}messages${body}`, /91 characters, at most 72/],
    [`End loops of delayed messages${body}`, /no module/],
    [`core: a loop of delayed messages ends${body}`, /"a" is no imperative/],
    [`core: ended loops${body}`, /"ended" is no imperative/],
    [`core: ending loops${body}`, /"ending" is no imperative/],
    [`core: end loops.${body}`, /period/],
    ['core: end loops of delayed messages', /no body/],
    ['core: end loops of delayed messages\nThey grew.', /second line/],
  ]
  for (const [message, problem] of refused)
    test(`may not be "${message.split('\n')[0]}", with ${message.split('\n').length} lines`, () => {
      assert.match(inspectCommit(message).join('\n'), problem)
    })

  for (const verb of ['bring', 'name', 'feed', 'proceed', 'ping', 'embed', 'add'])
    test(`may begin with "${verb}"`, () => assert.deepEqual(inspectCommit(`core: ${verb} it${body}`), []))
})
