// Several authenticators in an order: who decides, and what holds when one of them fails.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Authenticator, Outcome } from '../../src/access/authenticators/authenticator.ts'
import { AuthenticationChain } from '../../src/access/authenticators/chain.ts'
import { reasonCodes } from '../../src/protocol/index.ts'
import { connectionFrom } from './stage.ts'
import { fc } from '../properties.ts'

const attempt = { connection: connectionFrom(false), clientId: 'c', username: 'u', password: undefined, nowMs: 0 }

const outcomes: Record<Outcome['result'], Outcome> = {
  success: { result: 'success', username: 'u', isSuperuser: false },
  reject: { result: 'reject', reason: reasonCodes.badUserNameOrPassword, why: 'wrong' },
  failed: { result: 'failed', why: 'down' },
  ignore: { result: 'ignore' },
}

const step = fc.record({
  result: fc.constantFrom('success', 'reject', 'failed', 'ignore' as const),
  isLate: fc.boolean(),
})

test('the first authenticator that knows the client decides, at once or later, and no further one is asked', () =>
  fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 6 }), fc.boolean(), async (steps, failingDenies) => {
      const asked: number[] = []
      const links = steps.map(({ result, isLate }, index) => {
        const authenticator: Authenticator = {
          authenticate: () => {
            asked.push(index)
            return isLate ? Promise.resolve(outcomes[result]) : outcomes[result]
          },
        }
        return { name: 'password', authenticator } as const
      })
      const found = new AuthenticationChain(links, { failingDenies }).run(attempt)
      const { result } = await found
      const decides = ({ result: said }: { result: string }): boolean =>
        said === 'success' || said === 'reject' || (said === 'failed' && failingDenies)
      const last = steps.findIndex(decides)
      assert.equal(result, last === -1 ? 'ignore' : steps[last].result)
      const expected = last === -1 ? steps : steps.slice(0, last + 1)
      assert.deepEqual(asked, [...expected.keys()])
      assert.equal(
        found instanceof Promise,
        expected.some(({ isLate }) => isLate),
        'no promise where none is needed',
      )
    }),
  ))
