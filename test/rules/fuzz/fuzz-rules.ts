// Random rules over random messages: the only outcomes are results, compile errors and rule errors, and no evaluation is slow.

import assert from 'node:assert/strict'
import {
  compileRule,
  convertRuleSql,
  explainRule,
  toEventFields,
  RuleCompileError,
  RuleEvent,
  createSampleEvent,
  testRule,
  toJsonText,
  type CompiledRule,
} from '../../../src/rules/index.ts'
import { RuleError } from '../../../src/values/index.ts'
import { Random } from '../../protocol/fuzz/random.ts'
import { sampleHost } from '../sample-host.ts'
import { threadMs } from '../thread-time.ts'
import { randomContext, randomSql } from './random-sql.ts'

export interface FuzzTally {
  rules: number
  refused: number
  passed: number
  noResult: number
  failed: number
  /** Longest time of one compilation and of one evaluation, in milliseconds, with the SQL. */
  slowest: { readonly ms: number; readonly sql: string }
  characters: number
  compileMs: number
}

/** An evaluation that takes longer is a failure. The limits stop the slowest one after a fraction of it. */
const maxMs = 10_000

/** Runs `count` rules. Throws for anything that is not a result or an error of this module. */
export function fuzzRules(count: number, seed: number): FuzzTally {
  const random = new Random(seed)
  const tally: FuzzTally = {
    rules: 0,
    refused: 0,
    passed: 0,
    noResult: 0,
    failed: 0,
    slowest: { ms: 0, sql: '' },
    characters: 0,
    compileMs: 0,
  }
  for (let index = 0; index < count; index++) runOne(randomSql(random), random, tally)
  return tally
}

function runOne(sql: string, random: Random, tally: FuzzTally): void {
  tally.rules++
  tally.characters += sql.length
  const startMs = threadMs()
  const rule = compile(sql)
  tally.compileMs += threadMs() - startMs
  if (rule === undefined) tally.refused++
  else evaluate(rule, random, tally)
  const ms = threadMs() - startMs
  if (ms > tally.slowest.ms) tally.slowest = { ms, sql }
  assert.ok(ms < maxMs, `${ms} ms: ${sql}`)
}

function compile(sql: string): CompiledRule | undefined {
  try {
    convertRuleSql(sql)
    return compileRule(sql)
  } catch (error) {
    if (error instanceof RuleCompileError) return undefined
    throw new Error(`compilation of ${sql}`, { cause: error })
  }
}

/** Errors that the engine itself would have to explain: they show a check that is missing. */
const hostErrors = /SyntaxError|ERR_|broken host/

function evaluate(rule: CompiledRule, random: Random, tally: FuzzTally): void {
  const context = randomContext(random)
  const host = sampleHost()
  const result = testRule(rule.sql, context, host)
  if (result.outcome === 'failed') {
    tally.failed++
    const isOurs = result.error.kind !== 'internal' || hostErrors.test(result.error.message)
    assert.ok(isOurs, `${result.error.message}: ${rule.sql}`)
  } else if (result.outcome === 'passed') {
    tally.passed++
    writeOutput(result.output, rule.sql)
  } else tally.noResult++
  const event = new RuleEvent(toEventFields('message.publish', { ...context, qos: 1 }))
  explainRule(rule, event, host)
  // The event that it is for, as the explanation for administrators takes it.
  const sample = createSampleEvent(rule, context)
  if (!(sample instanceof RuleError)) explainRule(rule, sample, host)
}

/** The output must be JSON, or too large, or contain bits: both are rule errors. */
function writeOutput(output: Parameters<typeof toJsonText>[0], sql: string): void {
  try {
    JSON.parse(toJsonText(output))
  } catch (error) {
    if (!(error instanceof RuleError)) throw new Error(`output of ${sql}`, { cause: error })
  }
}
