// The rules for commits of CONTRIBUTING.md, for the text of one commit.

const maxSubjectLength = 72

/** Words that begin a statement about the product instead of an instruction to it. */
const notImperative = /^(?:an?|the|no|each|every|all|this|some|one|two|when|if|it|names|messages|comments|tests)$/i
/** Participles: "ending", "ended". */
const participle = /[a-z]{2,}(?:ing|[^e]ed)$/
const imperatives = new Set(['bring', 'string', 'embed', 'shed'])

/** Returns what is wrong with the message of a commit, with the remedy. */
export function inspectCommit(message: string): string[] {
  const [subject = '', separator, ...body] = message.trimEnd().split('\n')
  const problems: string[] = []
  if (subject.length > maxSubjectLength)
    problems.push(`the subject has ${subject.length} characters, at most ${maxSubjectLength}: move details to the body`)
  const verb = /^[\w/.,* -]+: (\S+)/.exec(subject)?.[1]
  if (verb === undefined) problems.push('the subject has no module: write `module: imperative summary`')
  else if (notImperative.test(verb) || (participle.test(verb) && !imperatives.has(verb)))
    problems.push(`"${verb}" is no imperative: begin the summary with what the change does ("core: end loops of ...")`)
  if (subject.endsWith('.')) problems.push('the subject ends with a period: remove it')
  if (separator !== undefined && separator !== '')
    problems.push('the second line is not empty: separate subject and body')
  else if (body.join('').trim() === '') problems.push('there is no body: give the reason, after an empty line')
  return problems
}
