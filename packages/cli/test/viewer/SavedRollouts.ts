/** Rollouts for pages in tests: every kind of content, and content that means harm. */

/** A red dot. */
export const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg=="

interface Message {
  readonly role: string
  readonly [key: string]: unknown
}

const pieces: { [id: string]: string } = {}
const ids = new Map<string, number>()

/** Ids of a text's words, as a tokenizer might have them. */
const encode = (text: string): ReadonlyArray<number> =>
  (text.match(/\s?\w+|\s+|[^\s\w]/gu) ?? []).map((piece) => {
    const id = ids.get(piece) ?? 100 + ids.size
    ids.set(piece, id)
    pieces[id] = piece
    return id
  })

/** A group of chats: assistants' words are trained on, each token a little less likely than the one before. */
export const group = (chats: ReadonlyArray<ReadonlyArray<Message>>, scores: ReadonlyArray<number>, fields = {}) => {
  const sequences = chats.map((chat) =>
    chat.flatMap(({ content, role }) =>
      encode(typeof content === "string" ? content : JSON.stringify(content ?? null)).map((id) => ({
        id,
        isTrained: role === "assistant"
      }))
    )
  )
  return {
    tokens: sequences.map((tokens) => tokens.map(({ id }) => id)),
    masks: sequences.map((tokens) => tokens.map(({ id, isTrained }) => (isTrained ? id : -100))),
    scores,
    inference_logprobs: sequences.map((tokens) =>
      tokens.map(({ isTrained }, at) => (isTrained ? -0.75 * (1 + (at % 8)) : 1))
    ),
    ref_logprobs: sequences.map((tokens) =>
      tokens.map(({ isTrained }, at) => (isTrained ? -0.5 * (1 + (at % 11)) : 1))
    ),
    advantages: null,
    messages: chats,
    overrides: chats.map((_, index) => ({ finish_reason: index === 0 ? "length" : "stop" })),
    images: null,
    policy_versions: chats.map(() => 7),
    ...fields
  }
}

const question: ReadonlyArray<Message> = [
  { role: "system", content: "Answer in a box." },
  { role: "user", content: "How long until $V = 120$ litres flow at \\(2.5\\) per minute?" }
]

export const mathGroup = group(
  [
    [...question, { role: "assistant", content: "<think>Guess.</think>It is \\(\\boxed{40}\\)." }],
    [
      ...question,
      {
        role: "assistant",
        content:
          "<think>\n120 / 2.5\n</think>\n**Divide**:\n\n```python\nprint(120 / 2.5)\n```\n\nso $$T = \\frac{120}{2.5} = 48$$"
      }
    ],
    [...question, { role: "assistant", content: "<answer>48</answer>" }]
  ],
  [0, 1, 0.5],
  {
    overrides: [
      { finish_reason: "length", rewards: { correct: 0, format: 0 } },
      { finish_reason: "stop", rewards: { correct: 1, format: 0 }, rationale: "Divides <b>rightly</b>." },
      { finish_reason: "stop", rewards: { correct: 0, format: 0.5 } }
    ]
  }
)

export const toolGroup = group(
  [
    [
      { role: "user", content: "How many live in Lyon?" },
      {
        role: "assistant",
        content: null,
        reasoning_content: "Look it up.",
        tool_calls: [
          { id: "call_1", type: "function", function: { name: "search", arguments: '{"query":"Lyon","limit":3}' } }
        ]
      },
      { role: "tool", tool_call_id: "call_1", content: '{"population":522250}' },
      {
        role: "assistant",
        content: '<tool_call>{"name":"python","arguments":{"code":"print(1)\\nprint(2)"}}</tool_call>'
      }
    ]
  ],
  [1]
)

export const imageGroup = group(
  [0, 1, 2, 3].map(() => [
    {
      role: "user",
      content: [
        { type: "text", text: "What is it? ![remote](https://example.invalid/in-markdown.png)" },
        { type: "image_url", image_url: { url: `data:image/png;base64,${png}` } },
        { type: "image_url", image_url: { url: "https://example.invalid/in-part.png" } }
      ]
    },
    { role: "assistant", content: "A dot." }
  ]),
  [1, 0, 0, 0],
  { images: [png, "https://example.invalid/in-images.png", "data:image/png;base64,AAAA", "no picture"] }
)

/** Each sets `window.harm` or loads something, if anything does. */
const harm = [
  "<script>window.harm = 1</script>",
  '<img src="x" onerror="window.harm = 2">',
  "[click](javascript:window.harm=3) [click](data:text/html,<script>parent.harm=4</script>)",
  "<svg onload=window.harm=5></svg><math><mtext><table><mglyph><style><img src=x onerror=window.harm=6>",
  "$\\href{javascript:window.harm=7}{x}$ $\\includegraphics{https://example.invalid/a.png}$ $\\htmlStyle{position:fixed}{x}$",
  "$\\frac{1}{$ $$\\def\\a{\\a\\a}\\a$$ $\\unknown$ \\[ \\begin{matrix} 1",
  "```html\n</code></pre><script>window.harm = 8</script>\n```",
  '![x](x" onerror="window.harm=9) <iframe srcdoc="<script>parent.harm=10</script>"></iframe>',
  '<style>* { display: none }</style><form action="https://example.invalid"><button>b</button></form>',
  '<base href="https://example.invalid"><meta http-equiv="refresh" content="0;url=https://example.invalid">',
  '[x]: javascript:window.harm=11\n[x] <javascript:window.harm=12> <a href="#/service" id="app">leave</a>',
  "\u202e reversed \u0000 \ufffe"
]

export const harmfulGroup = group(
  [
    [{ role: "user", content: harm.join("\n\n") }, ...harm.map((content) => ({ role: "assistant", content }))],
    [
      { role: harm[0]!, name: harm[1], content: { odd: harm[0] } },
      {
        role: "assistant",
        content: `<think>${harm.join("\n\n")}`,
        tool_calls: [
          { function: { name: harm[0], arguments: harm[1] } },
          harm[0],
          null,
          { function: { name: "f", arguments: JSON.stringify({ [harm[0]!]: `a\n${harm[0]}` }) } }
        ]
      },
      { role: "tool", content: harm.join("\n") }
    ]
  ],
  [1, 0]
)

/** Long, deep, and nothing but marks: laying any of them out whole would stop the page. */
export const hugeGroup = group(
  ["x".repeat(2_000_000), "*a_".repeat(8000), "$".repeat(24_000), "> ".repeat(12_000), "[".repeat(24_000)].map(
    (content) => [{ role: "assistant", content }]
  ),
  [5, 4, 3, 2, 1],
  { tokens: [[1], [1], [1], [1], [1]], masks: null, inference_logprobs: null }
)

export const longGroup = group(
  [
    [
      { role: "user", content: "Count." },
      { role: "assistant", content: Array.from({ length: 6000 }, (_, n) => `and ${n}`).join("\n") }
    ]
  ],
  [0.5]
)

const context: ReadonlyArray<Message> = [
  { role: "system", content: Array.from({ length: 60 }, (_, n) => `Rule ${n}.`).join("\n") },
  { role: "user", content: "So which is it?" }
]

/** A question under a long context, with short answers. */
export const contextGroup = group(
  ["A", "B", "C", "D", "E", "F"].map((content) => [...context, { role: "assistant", content }]),
  [1, 0, 0, 0, 0, 0]
)

const look = { role: "assistant", content: "I look around." }
const seen = { role: "user", content: "You see a door." }

/** An episode of two turns, the first of which all rollouts took alike, with settings that are no single value. */
export const episodeGroup = group(
  ["I open it.", "I knock."].map((content) => [
    { role: "user", content: "Leave the house." },
    look,
    seen,
    { role: "assistant", content }
  ]),
  [250, 100],
  { overrides: [{ finish_reason: "stop", limits: { turns: 3, tools: ["door"] } }, { finish_reason: "stop" }] }
)

/** Two sessions of one item: one went one way, the other sent a helper and took a step back. */
export const sessionGroup = group(
  [["I open it."], ["I knock."], ["I knock twice."]]
    .map(([content]) => [
      { role: "user", content: "Leave the house." },
      look,
      seen,
      { role: "assistant", content: content! }
    ])
    .concat([
      [
        { role: "user", content: "Find the key." },
        { role: "assistant", content: "Under the mat." }
      ]
    ]),
  [1, 0, 0, 0],
  { overrides: [{ session: 0 }, { session: 1 }, { session: 1 }, { session: 1 }] }
)

const row = (id: number, scores: ReadonlyArray<number>, environment: string, preview: string) => ({
  id: String(id),
  environment,
  env_id: 0,
  step: id,
  state: "consumed",
  created_at: Date.UTC(2026, 0, 1) + id,
  sequences: scores.length,
  tokens: 100,
  scores,
  policy_step: id - 1,
  preview
})

/**
 * All of them as the groups 1 to 6 of a run, a run of ten thousand, and one of which no more is known than files tell.
 */
export const savedRuns = () => {
  const groups = [mathGroup, toolGroup, imageGroup, harmfulGroup, hugeGroup, longGroup]
  const names = ["math", "tools", "images", "harm", "huge", "long"]
  return {
    title: "Saved rollouts",
    runs: [
      {
        name: "kinds",
        rows: groups.map(({ scores }, at) => row(at + 1, scores, names[at]!, `preview of ${names[at]}`)).toReversed(),
        groups: Object.fromEntries(groups.map((group, at) => [at + 1, group])),
        pieces,
        metrics: []
      },
      {
        name: "many",
        rows: Array.from({ length: 10_000 }, (_, at) =>
          row(10_000 - at, [at % 2, 1], "math", `question ${10_000 - at}`)
        ),
        groups: {},
        pieces: {},
        metrics: []
      },
      {
        name: "plain",
        rows: [{ ...row(1, contextGroup.scores, "", "So which is it?"), environment: null, step: null }],
        groups: { 1: contextGroup }
      },
      {
        name: "sessions",
        rows: [row(1, sessionGroup.scores, "house", "Leave the house.")],
        groups: { 1: sessionGroup },
        pieces
      },
      {
        name: "episodes",
        rows: [row(2, [0.5, 0.25], "choices", "Which one?"), row(1, episodeGroup.scores, "house", "Leave the house.")],
        groups: { 1: episodeGroup, 2: contextGroup },
        pieces
      }
    ]
  }
}
