// Entry point of the module regex: regular expressions whose matching takes a time that is linear in the text, counted against a budget. The module is
// pure.

export { compileMatcher, type Matcher } from './matcher.ts'
export { Regex, type Captures } from './regex.ts'
export * as regexLimits from './regex-limits.ts'
