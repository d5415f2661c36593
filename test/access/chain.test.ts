// The chain of authenticators: which one decides, and what happens if one fails.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Authenticator, AuthenticatorResult } from '../../src/access/authenticators/authenticator.ts'
import { AuthenticationChain } from '../../src/access/chain/authentication-chain.ts'
import { reasonCodes } from '../../src/protocol/index.ts'
import { connectionFrom } from './stage.ts'
import { fc } from '../properties.ts'

const attempt = { connection: connectionFrom(false), clientId: 'c', username: 'u', password: undefined, nowMs: 0 }

const results: Record<AuthenticatorResult['result'], AuthenticatorResult> = {
  accepted: { result: 'accepted', username: 'u', isSuperuser: false },
  refused: { result: 'refused', reason: reasonCodes.badUserNameOrPassword, why: 'wrong' },
  failed: { result: 'failed', why: 'down' },
  'unknown-client': { result: 'unknown-client' },
}

const step = fc.record({
  result: fc.constantFrom('accepted', 'refused', 'failed', 'unknown-client' as const),
  isLate: fc.boolean(),
})

test('the first authenticator that knows the client decides, at once or later, and no further one is called', () =>
  fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 6 }), fc.boolean(), async (steps, refusesOnError) => {
      const called: number[] = []
      const links = steps.map(({ result, isLate }, index) => {
        const authenticator: Authenticator = {
          authenticate: () => {
            called.push(index)
            return isLate ? Promise.resolve(results[result]) : results[result]
          },
        }
        return { name: 'password', authenticator } as const
      })
      const found = new AuthenticationChain(links, { refusesOnError }).run(attempt)
      const { result } = await found
      const decides = ({ result }: { result: string }): boolean =>
        result === 'accepted' || result === 'refused' || (result === 'failed' && refusesOnError)
      const last = steps.findIndex(decides)
      assert.equal(result, last === -1 ? 'unknown-client' : steps[last].result)
      const expected = last === -1 ? steps : steps.slice(0, last + 1)
      assert.deepEqual(called, [...expected.keys()])
      assert.equal(
        found instanceof Promise,
        expected.some(({ isLate }) => isLate),
        'a decision without I/O is not a promise',
      )
    }),
  ))
