// Templates of actions: `${a.b}` and `${a[1]}` insert values, `${.}` and `${}` insert all columns. All other text is unchanged.

import { maxPathKeys, maxRenderedBytes } from './limits/rule-limits.ts'
import {
  Budget,
  encodeJson,
  joinTexts,
  createLimitError,
  readKey,
  readPosition,
  RuleFloat,
  type RuleMap,
  type RuleText,
  type RuleValue,
  type Step,
  toTextForm,
} from '../values/index.ts'
import { type Placeholder, planEncoding, type PlannedEncoding, type TemplateEncoding } from './template-encodings.ts'

export interface CompiledTemplate {
  /** Fixed texts and placeholders in order. Sinks for SQL bind the values instead of inserting texts. */
  readonly parts: readonly (string | Placeholder)[]
  /** Returns the text. It is a string if it is valid UTF-8. Throws RuleError. */
  render(data: RuleMap): RuleText
  /** Returns the values of the placeholders in order. */
  resolveValues(data: RuleMap): RuleValue[]
}

const placeholder = /\$\{([^{}]*)\}/g

/** Compiles a template. A `${…}` whose content is not a path is text. `encoding`: the form of inserted values. */
export function compileTemplate(text: string, encoding: TemplateEncoding = 'text'): CompiledTemplate {
  const parts: (string | Placeholder)[] = []
  let at = 0
  for (const found of text.matchAll(placeholder)) {
    const steps = readSteps(found[1])
    if (steps === undefined) continue
    if (found.index > at) parts.push(text.slice(at, found.index))
    parts.push({ text: found[0], steps })
    at = found.index + found[0].length
  }
  if (at < text.length) parts.push(text.slice(at))
  const paths = parts.flatMap((part) => (typeof part === 'string' ? [] : [part.steps]))
  const plan = planEncoding(parts, encoding)
  return { parts, render: (data) => render(parts, plan, data), resolveValues: (data) => resolveValues(paths, data) }
}

const stepPattern = /(?:^|\.)([^.[\]]+)|\[(-?\d+)\]/y

function readSteps(path: string): Step[] | undefined {
  if (path === '.') return []
  const steps: Step[] = []
  stepPattern.lastIndex = 0
  while (stepPattern.lastIndex < path.length) {
    const found = stepPattern.exec(path)
    if (found === null || steps.length === maxPathKeys) return undefined
    steps.push(found[1] === undefined ? { position: Number(found[2]) } : { key: found[1].trim() })
  }
  return steps
}

function resolveValue(data: RuleMap, steps: readonly Step[], budget: Budget): RuleValue {
  let value: RuleValue = data
  for (const step of steps) {
    if (typeof step === 'string') value = undefined
    else value = 'key' in step ? readKey(value, step.key, budget) : readPosition(value, step.position, budget)
  }
  return value
}

function render(parts: readonly (string | Placeholder)[], plan: PlannedEncoding | undefined, data: RuleMap): RuleText {
  const budget = new Budget()
  let length = 0
  const texts = parts.map((part, index) => {
    const encode = plan?.encoders[index] ?? toTextForm
    const text = typeof part === 'string' ? part : encode(resolveValue(data, part.steps, budget), budget)
    length += text.length
    if (length > maxRenderedBytes)
      throw createLimitError('the rendered text is too large', 'maxRenderedBytes', maxRenderedBytes)
    return text
  })
  plan?.check?.(texts)
  return joinTexts(texts, budget)
}

/** A value of a JavaScript type that the clients of services accept: no `RuleFloat`, array or map of the rule engine. */
export type PlainRuleValue = undefined | null | boolean | number | bigint | string | Uint8Array

/** Returns a float as a number, and arrays and maps as JSON. Throws RuleError if the JSON would be too large. */
export function toPlainValue(value: RuleValue): PlainRuleValue {
  if (value instanceof RuleFloat) return value.value
  const isComposed = typeof value === 'object' && value !== null && !(value instanceof Uint8Array)
  return isComposed ? encodeJson(value, new Budget()) : value
}

function resolveValues(paths: readonly (readonly Step[])[], data: RuleMap): RuleValue[] {
  const budget = new Budget()
  return paths.map((steps) => resolveValue(data, steps, budget))
}
