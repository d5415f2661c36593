// Maps a topic of one side to a topic of the other.
//
//   filter   +  / plant / #            'a/plant/b/c'  ->  '+' is a, '#' is b/c
//   target   in / + / #                               ->  in/a/b/c
//
// The first `+` of the target is replaced by what the first `+` of the filter matched, and so on; `#` likewise. A target without wildcards
// is the same for all topics; an empty one keeps the topic. Prefix and suffix are added last.

import { countLevels, matchesLevels, parseTopicName, type TopicName } from '../../protocol/index.ts'

export interface Mapping {
  readonly filter: string
  readonly target: string
  readonly prefix: string
  readonly suffix: string
}

/** A mapping for repeated use. */
export class TopicMapping {
  readonly #filter: readonly string[]
  /** Undefined: the topic is unchanged. */
  readonly #target: readonly string[] | undefined
  readonly #prefix: string
  readonly #suffix: string

  constructor({ filter, target, prefix, suffix }: Mapping) {
    this.#filter = filter.split('/')
    this.#target = target === '' ? undefined : target.split('/')
    this.#prefix = prefix
    this.#suffix = suffix
  }

  matches(topic: string): boolean {
    return matchesLevels(this.#filter, topic)
  }

  /** For a topic that matches; undefined if the result is not a valid topic. */
  map(topic: string, maxTopicLevels: number): TopicName | undefined {
    const inner = this.#target === undefined ? topic : this.#replaceWildcards(this.#target, topic.split('/'))
    const name = inner === undefined ? undefined : parseTopicName(this.#prefix + inner + this.#suffix)
    return name === undefined || countLevels(name) > maxTopicLevels ? undefined : name
  }

  /** Undefined if the result is empty. */
  #replaceWildcards(target: readonly string[], topicLevels: readonly string[]): string | undefined {
    const single: string[] = []
    let rest: readonly string[] = []
    for (const [index, level] of this.#filter.entries()) {
      if (level === '+') single.push(topicLevels[index] ?? '')
      else if (level === '#') rest = topicLevels.slice(index)
    }
    let used = 0
    const levels = target.flatMap((level) => {
      if (level === '+') return [single[used++] ?? '']
      return level === '#' ? rest : [level]
    })
    return levels.length === 0 ? undefined : levels.join('/')
  }
}
