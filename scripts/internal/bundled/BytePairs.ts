/**
 * Trains byte pair encoding (Sennrich et al., arXiv 1508.07909) on bytes, as in GPT-2, and writes it as the files that
 * Hugging Face's libraries read.
 *
 * Text is split into words first, with digits separate. Among the most frequent pairs the first in text order is
 * merged, so that the same text gives the same tokenizer.
 */

/** Words with a sign or space before them, digits, signs, spaces. Linear: no part of it can match in two ways. */
const words = "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+|\\s+"
const wordsPattern = new RegExp(words, "gu")

const isPrintable = (byte: number): boolean =>
  (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255)

/** The printable character that represents each byte in vocabularies. */
const symbols: ReadonlyArray<string> = (() => {
  let next = 256
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isPrintable(byte) ? byte : next++))
})()

interface Word {
  parts: ReadonlyArray<string>
  readonly count: number
}

const separator = " "

const merged = (parts: ReadonlyArray<string>, left: string, right: string): ReadonlyArray<string> => {
  const result: Array<string> = []
  for (let at = 0; at < parts.length; at++) {
    if (parts[at] === left && parts[at + 1] === right) {
      result.push(left + right)
      at++
    } else result.push(parts[at]!)
  }
  return result
}

/** The next merges after the known ones, most frequent first, until there are `most` or no pair occurs twice. */
const merges = (
  texts: Iterable<string>,
  most: number,
  known: ReadonlyArray<readonly [string, string]>
): ReadonlyArray<readonly [string, string]> => {
  const counts = new Map<string, number>()
  for (const text of texts) {
    for (const [word] of text.matchAll(wordsPattern)) counts.set(word, (counts.get(word) ?? 0) + 1)
  }
  const encoder = new TextEncoder()
  const all = Array.from(counts, ([word, count]): Word => ({
    parts: Array.from(encoder.encode(word), (byte) => symbols[byte]!),
    count
  }))
  for (const word of all) {
    word.parts = known.reduce((parts, [left, right]) => merged(parts, left, right), word.parts)
  }
  const result = Array.from(known)
  while (result.length < most) {
    const pairs = new Map<string, number>()
    for (const { count, parts } of all) {
      for (let at = 1; at < parts.length; at++) {
        const pair = parts[at - 1]! + separator + parts[at]!
        pairs.set(pair, (pairs.get(pair) ?? 0) + count)
      }
    }
    let best: string | undefined
    let times = 1
    for (const [pair, count] of pairs) {
      if (count > times || (count === times && best !== undefined && pair < best)) [best, times] = [pair, count]
    }
    if (best === undefined) break
    const [left = "", right = ""] = best.split(separator)
    result.push([left, right])
    for (const word of all) word.parts = merged(word.parts, left, right)
  }
  return result
}

/** Tokens that text cannot produce; their ids are 0, 1, 2. */
export interface Special {
  /** Ends a text, and pads. */
  readonly end: string
  readonly turnStart: string
  readonly turnEnd: string
}

/** Around a call; each is one token, the last of the vocabulary. */
const tags = ["<tool_call>", "</tool_call>"]

/**
 * Turns as in ChatML, calls as in Hermes; the tool list ends the system message and is short, since a small model has
 * few positions.
 */
const chatTemplate = ({ turnEnd, turnStart }: Special): string =>
  [
    "{% macro list_of(tools) %}Tools:",
    "{% for tool in tools %}{% set it = tool['function'] %}",
    "{{ '\\n' + it['name'] + '(' }}",
    "{% for key in (it['parameters'] or {})['properties'] or {} %}",
    "{{ key }}{% if not loop.last %}, {% endif %}{% endfor %}",
    "{{ ')' }}{% if it['description'] %}{{ ': ' + it['description'] }}{% endif %}{% endfor %}{% endmacro %}",
    "{% if tools and messages[0]['role'] != 'system' %}",
    `{{ '${turnStart}system\\n' + list_of(tools) + '${turnEnd}\\n' }}{% endif %}`,
    "{% for message in messages %}",
    `{{ '${turnStart}' + message['role'] + '\\n' + (message['content'] or '') }}`,
    "{% if tools and loop.first and message['role'] == 'system' %}{{ '\\n' + list_of(tools) }}{% endif %}",
    "{% for call in message['tool_calls'] or [] %}{% set it = call['function'] %}",
    "{% if message['content'] or not loop.first %}{{ '\\n' }}{% endif %}",
    `{{ '${tags[0]}\\n{"name": "' + it['name'] + '", "arguments": ' }}`,
    "{% if it['arguments'] is string %}{{ it['arguments'] }}{% else %}{{ it['arguments'] | tojson }}{% endif %}",
    `{{ '}\\n${tags[1]}' }}{% endfor %}`,
    `{{ '${turnEnd}\\n' }}{% endfor %}`,
    `{% if add_generation_prompt %}{{ '${turnStart}assistant\\n' }}{% endif %}`
  ].join("")

/** `tokenizer.json` and `tokenizer_config.json` of a tokenizer trained on these texts, one lot after the other. */
export const files = (
  lots: ReadonlyArray<Iterable<string>>,
  special: Special,
  vocabularySize: number,
  maxPositions: number
): { readonly [file: string]: unknown } => {
  const named = [special.end, special.turnStart, special.turnEnd]
  const most = vocabularySize - named.length - symbols.length - tags.length
  const pairs = lots.reduce<ReadonlyArray<readonly [string, string]>>((known, texts) => merges(texts, most, known), [])
  const tokens = [...named, ...symbols, ...pairs.map(([left, right]) => left + right), ...tags]
  const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false }
  return {
    "tokenizer.json": {
      version: "1.0",
      truncation: null,
      padding: null,
      added_tokens: [...named, ...tags].map((content) => ({
        id: tokens.indexOf(content),
        content,
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        // Calls are shown in text, ends of turns are not.
        special: named.includes(content)
      })),
      normalizer: null,
      pre_tokenizer: {
        type: "Sequence",
        pretokenizers: [{ type: "Split", pattern: { Regex: words }, behavior: "Isolated", invert: false }, byteLevel]
      },
      post_processor: null,
      decoder: byteLevel,
      model: {
        type: "BPE",
        dropout: null,
        unk_token: null,
        continuing_subword_prefix: null,
        end_of_word_suffix: null,
        fuse_unk: false,
        byte_fallback: false,
        ignore_merges: false,
        vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
        merges: pairs
      }
    },
    "tokenizer_config.json": {
      tokenizer_class: "PreTrainedTokenizerFast",
      eos_token: special.turnEnd,
      pad_token: special.end,
      model_max_length: maxPositions,
      chat_template: chatTemplate(special),
      clean_up_tokenization_spaces: false
    }
  }
}
