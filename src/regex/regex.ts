// A regular expression engine whose time is proportional to pattern times text: it follows all ways through the
// pattern at once (Thompson, Pike). V8's own engine can take exponential time, and nothing can interrupt it.

import { maxRegexInstructions } from './regex-limits.ts'
import { type Budget, createLimitError } from '../values/index.ts'
import { isWord } from './characters.ts'
import { parseRegex } from './parse-regex.ts'
import type { Anchor, CharacterTest, RegexNode } from './regex-syntax.ts'

type Instruction =
  | { readonly kind: 'character'; readonly test: CharacterTest }
  | { readonly kind: 'anchor'; readonly anchor: Anchor }
  | { readonly kind: 'save'; readonly slot: number }
  /** Continues at the first target, and with lower priority at the second. */
  | { readonly kind: 'split'; first: number; second: number }
  | { readonly kind: 'jump'; target: number }
  | { readonly kind: 'match' }

/** Start and end of each group in UTF-16 units; the first pair is the whole match. Undefined for unused groups. */
export type Captures = readonly (number | undefined)[]

interface Thread {
  readonly at: number
  readonly captures: Captures
}

const noCaptures: Captures = []

export class Regex {
  readonly #program: Instruction[] = []
  readonly groups: number

  /** Throws RuleError for a pattern that is wrong, not supported or too large. */
  constructor(pattern: string) {
    const { root, groups } = parseRegex(pattern)
    this.groups = groups
    this.#emitGroup(0, root)
    this.#emit({ kind: 'match' })
  }

  #emit<T extends Instruction>(instruction: T): T {
    if (this.#program.length === maxRegexInstructions) {
      throw createLimitError('regular expression too large', 'maxRegexInstructions', maxRegexInstructions)
    }
    this.#program.push(instruction)
    return instruction
  }

  #emitNode(node: RegexNode): void {
    switch (node.kind) {
      case 'character':
      case 'anchor':
        this.#emit(node)
        return
      case 'group':
        this.#emitGroup(node.index, node.inner)
        return
      case 'sequence':
        for (const part of node.parts) this.#emitNode(part)
        return
      case 'choice':
        this.#emitChoice(node.options)
        return
      case 'repeat':
        this.#emitRepeat(node)
        return
      default:
        throw node satisfies never
    }
  }

  #emitGroup(index: number, inner: RegexNode): void {
    this.#emit({ kind: 'save', slot: 2 * index })
    this.#emitNode(inner)
    this.#emit({ kind: 'save', slot: 2 * index + 1 })
  }

  #emitChoice(options: readonly RegexNode[]): void {
    const jumps: { target: number }[] = []
    for (const option of options.slice(0, -1)) {
      const split = this.#emit({ kind: 'split', first: this.#program.length + 1, second: 0 })
      this.#emitNode(option)
      jumps.push(this.#emit({ kind: 'jump', target: 0 }))
      split.second = this.#program.length
    }
    this.#emitNode(options[options.length - 1])
    for (const jump of jumps) jump.target = this.#program.length
  }

  #emitRepeat({ inner, min, max, isLazy }: Extract<RegexNode, { kind: 'repeat' }>): void {
    for (let count = 0; count < min; count++) this.#emitNode(inner)
    if (max === Infinity) {
      const start = this.#program.length
      const split = this.#emit({ kind: 'split', first: start + 1, second: start + 1 })
      this.#emitNode(inner)
      this.#emit({ kind: 'jump', target: start })
      this.#leaveTo(split, isLazy)
      return
    }
    const splits = []
    for (let count = min; count < max; count++) {
      const next = this.#program.length + 1
      splits.push(this.#emit({ kind: 'split', first: next, second: next }))
      this.#emitNode(inner)
    }
    for (const split of splits) this.#leaveTo(split, isLazy)
  }

  /** Sets the way past a repetition: the preferred one if it is lazy. */
  #leaveTo(split: { first: number; second: number }, isLazy: boolean): void {
    if (isLazy) split.first = this.#program.length
    else split.second = this.#program.length
  }

  /** Returns the first match from `start`, or undefined. */
  exec(text: string, start: number, budget: Budget, keepsCaptures = true): Captures | undefined {
    let threads: Thread[] = []
    let found: Captures | undefined
    for (let at = start; ;) {
      const code = text.codePointAt(at)
      const visited = new Set<number>()
      const current: Thread[] = []
      for (const thread of threads) this.#follow(thread, { text, at, current, visited, keepsCaptures })
      if (found === undefined) {
        this.#follow({ at: 0, captures: noCaptures }, { text, at, current, visited, keepsCaptures })
      }
      budget.countSteps(1 + visited.size)
      const advanced = this.#advance(current, code)
      found = advanced.found ?? found
      threads = advanced.threads
      if (code === undefined || (threads.length === 0 && found !== undefined)) return found
      at += code > 0xff_ff ? 2 : 1
    }
  }

  /** Moves the threads over one character. A match ends all threads of lower priority. */
  #advance(current: readonly Thread[], code: number | undefined): { threads: Thread[]; found: Captures | undefined } {
    const threads: Thread[] = []
    for (const { at, captures } of current) {
      const instruction = this.#program[at]
      if (instruction.kind === 'match') return { threads, found: captures }
      if (code !== undefined && instruction.kind === 'character' && instruction.test(code)) {
        threads.push({ at: at + 1, captures })
      }
    }
    return { threads, found: undefined }
  }

  /** Adds the thread, or where it goes without reading a character, in order of priority. */
  #follow(thread: Thread, step: FollowStep): void {
    const pending = [thread]
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const { at, captures } = next
      if (step.visited.has(at)) continue
      step.visited.add(at)
      const instruction = this.#program[at]
      switch (instruction.kind) {
        case 'jump':
          pending.push({ at: instruction.target, captures })
          break
        case 'split':
          pending.push({ at: instruction.second, captures }, { at: instruction.first, captures })
          break
        case 'save':
          pending.push({
            at: at + 1,
            captures: step.keepsCaptures ? copyWithCapture(captures, instruction.slot, step.at) : captures,
          })
          break
        case 'anchor':
          if (matchesAnchor(instruction.anchor, step.text, step.at)) pending.push({ at: at + 1, captures })
          break
        default:
          step.current.push(next)
      }
    }
  }
}

interface FollowStep {
  readonly text: string
  readonly at: number
  readonly current: Thread[]
  readonly visited: Set<number>
  readonly keepsCaptures: boolean
}

function copyWithCapture(captures: Captures, slot: number, at: number): Captures {
  const copy = [...captures]
  copy[slot] = at
  return copy
}

function matchesAnchor(anchor: Anchor, text: string, at: number): boolean {
  switch (anchor) {
    case 'text-start':
      return at === 0
    case 'text-end':
      return at === text.length
    case 'last-line-end':
      return at === text.length || (at === text.length - 1 && text[at] === '\n')
    case 'line-start':
      return at === 0 || text[at - 1] === '\n'
    case 'line-end':
      return at === text.length || text[at] === '\n'
    case 'word':
    case 'no-word': {
      const isEdge = isWordAt(text, at - 1) !== isWordAt(text, at)
      return isEdge === (anchor === 'word')
    }
    default:
      throw anchor satisfies never
  }
}

function isWordAt(text: string, at: number): boolean {
  return at >= 0 && at < text.length && isWord(text.charCodeAt(at))
}
