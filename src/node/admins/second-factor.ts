// The second factor of accounts: who needs a one-time code, and whether one passes.

import type { SecondFactors } from '../../management/index.ts'
import type { AccountRecord } from '../../records/index.ts'
import type { AccessRecords } from '../records/stored-access-records.ts'
import type { ConfiguredAccount } from './admin-authentication.ts'
import { formatOtpauthUri, findStep, writeBase32 } from './totp.ts'

export interface SecondFactorDependencies {
  readonly records: Pick<AccessRecords, 'find' | 'decide'>
  /** As the configuration says it now: with a password there, no record counts. */
  readonly readConfiguredAccount: () => ConfiguredAccount
  readonly nodeName: string
  /** Wall clock. */
  readonly nowMs: () => number
}

interface WrongCodes {
  count: number
  readonly sinceMs: number
}

/** Wrong codes of one account in that time, wherever they come from. Only who knows the password gets so far. */
const maxWrongCodes = 10
const wrongCodesMs = 300_000
/** Accounts that are remembered. */
const maxRemembered = 8_192

export function createSecondFactors({
  records,
  readConfiguredAccount,
  nodeName,
  nowMs,
}: SecondFactorDependencies): SecondFactors {
  const wrong = new Map<string, WrongCodes>()
  const find = (name: string): AccountRecord | undefined => {
    if (name === readConfiguredAccount().username && readConfiguredAccount().password !== undefined) return undefined
    return records.find({ kind: 'account', name })
  }
  const readWrongCodes = (name: string): WrongCodes => {
    const known = wrong.get(name)
    return known !== undefined && nowMs() - known.sinceMs < wrongCodesMs ? known : { count: 0, sinceMs: nowMs() }
  }
  return {
    check: async (name, code) => {
      const factor = find(name)?.secondFactor
      if (factor === undefined) return 'not-needed'
      if (code === undefined || code === '') {
        const { secret } = factor
        const enrollment = { secret: writeBase32(secret), uri: formatOtpauthUri(secret, name, `Godwit ${nodeName}`) }
        return factor.isConfirmed ? { missing: true } : { missing: true, ...enrollment }
      }
      const codes = readWrongCodes(name)
      if (codes.count >= maxWrongCodes) return 'too-many'
      let hasPassed = false
      // One after the other: of two logins with one code one passes.
      await records.decide(() => {
        const record = find(name)
        const now = record?.secondFactor
        const step = now === undefined ? undefined : findStep(now.secret, code, nowMs())
        if (record === undefined || now === undefined || step === undefined || step <= now.lastStep) return unchanged
        hasPassed = true
        return { put: [{ ...record, secondFactor: { ...now, isConfirmed: true, lastStep: step } }], delete: [] }
      })
      if (hasPassed) {
        wrong.delete(name)
        return 'passed'
      }
      wrong.delete(name)
      wrong.set(name, { ...codes, count: codes.count + 1 })
      const oldest = wrong.keys().next().value
      if (wrong.size > maxRemembered && oldest !== undefined) wrong.delete(oldest)
      return 'wrong'
    },
  }
}

const unchanged = { put: [], delete: [] }
