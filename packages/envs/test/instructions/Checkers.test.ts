import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import * as Checkers from "../../src/instructions/Checkers.ts"
import * as Growth from "../../../core/test/base/Growth.ts"

const checkers = await Effect.runPromise(Checkers.load)

type Args = { readonly [name: string]: unknown }

const isMet = (name: string, args: Args, text: string): boolean =>
  Result.getOrThrow(Checkers.decode(checkers, { func_name: name, ...args })).isMet(text)

interface Cases {
  readonly args: Args
  readonly met: ReadonlyArray<string>
  readonly broken: ReadonlyArray<string>
}

const quantified = (count: number, quantifier: string) => ({ N: count, quantifier })

const cases: { readonly [name: string]: ReadonlyArray<Cases> } = {
  verify_keywords: [
    {
      args: { keyword_list: ["sea", "Harbour"] },
      met: ["The seagulls love the harbour.", "SEA, HARBOUR"],
      broken: ["The sea alone.", "harbour", ""]
    },
    { args: { keyword_list: ["naïve", "ice cream"] }, met: ["Nai\u0308ve ice\n  cream."], broken: ["naive ice cream"] }
  ],
  verify_keyword_frequency: [
    {
      args: { word: "boat", N: 2 },
      met: ["A boat, and a Boat.", "boat boat", "'boat' (boat) boats"],
      broken: ["A boat.", "boats boatyard", "boat boat boat", ""]
    },
    { args: { word: "New York", N: 1 }, met: ["In New York."], broken: ["In New Yorkshire.", "New new york New York"] },
    { args: { word: "c++", N: 1 }, met: ["I like C++ best."], broken: ["I like C best."] },
    { args: { word: "don't", N: 2 }, met: ["I don’t, I don't."], broken: ["I dont."] },
    { args: { word: "ice cream", N: 1 }, met: ["ice\ncream"], broken: ["ice cream, ice  cream", "icecream"] },
    { args: { word: "boat", N: 0 }, met: ["A ship."], broken: ["A boat."] }
  ],
  validate_forbidden_words: [
    {
      args: { forbidden_words: ["sea", "boat"] },
      met: ["A ship."],
      broken: ["The Sea.", "a lifeboat", "", "\n", "***"]
    },
    {
      args: { forbidden_words: ["café", "don't", "ice cream"] },
      met: ["A cafe, I do not, ice and cream."],
      broken: ["The cafe\u0301.", "I don’t.", "Ice\n\ncream."]
    }
  ],
  verify_letter_frequency: [
    { args: { letter: "z", N: 2 }, met: ["fuzz", "Z zz"], broken: ["z", "zzz", "Zz"] },
    { args: { letter: "é", N: 1 }, met: ["café", "cafe\u0301"], broken: ["cafe"] },
    { args: { letter: "z", N: 0 }, met: ["none"], broken: ["zero", ""] }
  ],
  validate_response_language: [
    {
      args: { language: "de" },
      met: [
        "Der Hafen liegt am Morgen still, und die Boote warten auf den Wind.",
        "Ich weiß es leider nicht genau, aber ich frage morgen gerne nach, wenn der Laden wieder geöffnet hat. Bis dahin warten wir."
      ],
      broken: [
        "The harbour is quiet in the morning and the boats are waiting for the wind to come.",
        "Le port est calme le matin, et les bateaux attendent que le vent se lève enfin.",
        "12345",
        `${"Der Hafen liegt am Morgen still, und die Boote warten auf den Wind. ".repeat(6)}\n\n${"The harbour is quiet in the morning and the boats are waiting for the wind. ".repeat(4)}`
      ]
    },
    { args: { language: "ja" }, met: ["朝の港は静かです。"], broken: ["早晨的港口很安静。", "The harbour is quiet."] },
    { args: { language: "zh-CN" }, met: ["早晨的港口很安静。"], broken: ["The harbour is quiet."] }
  ],
  verify_paragraph_count: [
    {
      args: { N: 3 },
      met: ["One.\n* * *\nTwo.\n* * *\nThree.", "One.\r\n* * *\r\nTwo.\r\n* * *\r\nThree.", "a* * *b* * *c"],
      broken: ["One.\n* * *\nTwo.", "* * ** * *", "One.\n* * *\n\n* * *\nThree.", "One.\n***\nTwo.\n***\nThree."]
    },
    { args: { N: 1 }, met: ["One."], broken: ["", "One.\n* * *\n"] }
  ],
  validate_word_constraint: [
    {
      args: quantified(3, "at least"),
      met: ["one two three", " a\nb\tc d"],
      broken: ["one two", "...", "- - one * two —"]
    },
    {
      args: quantified(3, "at most"),
      met: ["one", "one two three", "- one\n- two — three"],
      broken: ["one two three four", "", "..."]
    },
    {
      args: quantified(20, "around"),
      met: ["w ".repeat(18), "w ".repeat(22)],
      broken: ["w ".repeat(17), "w ".repeat(23)]
    },
    { args: quantified(4, "around"), met: ["a b c", "a b c d e"], broken: ["a b", "a b c d e f"] },
    // A half is rounded to the even neighbour: a tenth of 25 is 2, of 35 is 4.
    { args: quantified(25, "around"), met: ["w ".repeat(23)], broken: ["w ".repeat(22)] },
    { args: quantified(35, "around"), met: ["w ".repeat(31)], broken: ["w ".repeat(30)] }
  ],
  verify_sentence_constraint: [
    {
      args: quantified(3, "at least"),
      met: ["One. Two! Three?", 'He said "yes." Then he went. And so on.', "One.\nTwo.\nThree."],
      broken: ["One. Two.", ". . . . .", "e.g. this is one sentence by Dr. Who", "3.14 is one. number"]
    },
    {
      args: quantified(3, "at least"),
      met: ["I met Jo. I met Al. That is all.", "Is it so? No. It is not."],
      broken: ["I met Jo. I met Al.", "St. Jo met Mr. Al. Both wait for No. 5."]
    },
    {
      args: quantified(1, "at most"),
      met: [
        "Mrs. Smith came at 5 p.m. today.",
        "Prof. Smith, e.g. the tall one, came.",
        "Cats vs. dogs.",
        "今天很好。"
      ],
      broken: ["One… Two.", "今天很好。我们去玩。", "Really?! Yes."]
    },
    {
      args: quantified(3, "at least"),
      met: ["今天很好。“我们去玩！”他来了。"],
      broken: ["今天很好！！！我们去玩。。。"]
    },
    { args: quantified(2, "at most"), met: ["One. Two.", "One"], broken: ["One. Two. Three.", ""] },
    {
      args: quantified(5, "around"),
      met: ["A. B. C. D.", "A. B. C. D. E. F."],
      broken: ["A. B. C.", "A. B. C. D. E. F. G."]
    }
  ],
  validate_paragraphs: [
    {
      args: { N: 2, first_word: "however", i: 2 },
      met: ["One.\n\nHowever, two.", 'One.\n \n\n"However" two.', "One.\n\n**However**: two.\n\n"],
      broken: [
        "However.\n\nOne.",
        "One.\nHowever two.",
        "One.\n\nHowever.\n\nThree.",
        "One.\n\nHow ever",
        "",
        "However"
      ]
    },
    {
      args: { N: 1, first_word: "Don't", i: 1 },
      met: ["Don’t go.", "“Don't!” she said."],
      broken: ["Do not go.", "Don'ts and dos.", "I don't."]
    },
    {
      args: { N: 1, first_word: "In summary", i: 1 },
      met: ["In summary, yes."],
      broken: ["In short, yes.", "In summaryland"]
    },
    { args: { N: 1, first_word: "so", i: 2 }, met: [], broken: ["so", "a\n\nso"] }
  ],
  verify_postscript: [
    {
      args: { postscript_marker: "P.S." },
      met: [
        "Dear you.\n\nP.S. Bring a coat.",
        "Dear you. P.S. Bring a coat.",
        "Dear you.\n**P.S.** Bring a coat.",
        "dear you\n\np.s. bring a coat",
        "Dear you.\n\nP. S. Bring a coat.",
        "Dear you!\n\n> P.S. Bring a coat.\n\nAnd a hat. I sign P.S. always.",
        'Dear you ("well"). P.S.: A coat.'
      ],
      broken: [
        "P.S.",
        "Dear you.\n\nP.S.",
        "P.S. Bring a coat.",
        "Dear you. P.P.S. A coat.",
        "P.S. A coat.\n\nDear you.\n\nBye.",
        "P.S. P.S. A coat.",
        "I never write P.S. in letters.",
        "Dear you. Ships. A coat."
      ]
    },
    {
      args: { postscript_marker: "P.P.S" },
      met: ["You.\nP.P.S. A coat."],
      broken: ["You.\nP.S. A coat.", "You.\nP.P.S"]
    }
  ],
  validate_placeholders: [
    {
      args: { N: 2 },
      met: ["Dear [name], at [address].", "[a][b][c]"],
      broken: ["Dear [name].", "[] [ ]", "[a", "[[]]", "[name\n] [x]"]
    }
  ],
  verify_bullet_points: [
    {
      args: { N: 2 },
      met: ["* one\n* two", "- one\r\n- two\r\n", "Intro:\n  - one\n  + two\nOutro.", "* one\n* * *\n- two"],
      broken: ["* one", "* one\n* two\n* three", "*one\n*two", "- \n- ", "* * *\n- - -", "a * b\nc - d"]
    },
    { args: { N: 0 }, met: ["none"], broken: ["- one", ""] }
  ],
  validate_title: [
    {
      args: {},
      met: ["<<A quiet place>>\nText", "Text <<1>>", "**<<The <b> tag>>**"],
      broken: ["<<>>", "<<", ">>", "<<<>>>", "<< >> Text", "<A>", "<<A\nB>>", ">>A<<"]
    }
  ],
  validate_choice: [
    {
      args: { options: ["yes", "My answer is no."] },
      met: ["yes", " YES ", '"Yes."', "my answer is no"],
      broken: ["yes and no", "maybe", "", "yes!?", "The answer is yes"]
    },
    {
      args: { options: ["C", "C++", "It's here"] },
      met: ["**C**", "(C++).", "“It’s here”", "`c`", "_c++_"],
      broken: ["C+", "C#", "Its here", "C C"]
    }
  ],
  validate_highlighted_sections: [
    {
      args: { N: 2 },
      met: ["*one* and *two*", "**one** and *two parts*", "*a* *b* *c*"],
      broken: ["*one*", "****", "* * *", "* a * b *", "*one\ntwo* *", "** **"]
    }
  ],
  validate_sections: [
    {
      args: { N: 2, section_splitter: "Section" },
      met: [
        "Section 1\nOne.\nSection 2\nTwo.",
        "## SECTION 1: one\ntext\n\n## SECTION 2: two\n",
        "Section I. one\nSection II. two",
        "Section A\nThis section is long. Section 3 is not here.\nSection B\nb"
      ],
      broken: [
        "Section 1\nOne.",
        "Section 1\nSection 2",
        "Section\nOne.\nSection\nTwo.",
        "Subsection 1\na\nSubsection 2\nb",
        ""
      ]
    },
    {
      args: { N: 2, section_splitter: "###" },
      met: ["### A\na\n### B\nb", "### A\n#### a\na\n### B\nb"],
      broken: ["### A\na", "A ### a\nB ### b"]
    }
  ],
  validate_json_format: [
    {
      args: {},
      // In a code fence, as IFEval takes it.
      met: ['{"a": 1}', ' [1, "b"]\n', '```json\n{"a": 1}\n```', "```\n[1]\n```", '{"a": "“b”"}'],
      broken: [
        "{}",
        "[]",
        "1",
        '"text"',
        "null",
        "{'a': 1}",
        'Here: {"a": 1}',
        '```json\n{"a": 1}',
        "```",
        "``````",
        ""
      ]
    }
  ],
  validate_repeat_prompt: [
    {
      args: { original_prompt: "Name a  colour.\n" },
      met: ["Name a colour.\nBlue.", "  Name a colour. Blue"],
      broken: ["Name a colour.", "Name a colour. ...", "name a colour. Blue", "Blue.", "Blue. Name a colour."]
    },
    { args: { original_prompt: "What’s a colour" }, met: ["What's a colour? Blue"], broken: ["What's a colours? Blue"] }
  ],
  validate_two_responses: [
    {
      args: {},
      met: [
        "Red.\n******\nBlue.",
        "Red ****** blue",
        "C++ is best\n******\nC# is best",
        "+1\n******\n-1",
        "**a**\n******\n**the**"
      ],
      broken: [
        "Red.",
        "Red.\n******\nred",
        "Red.\n*****\nBlue.",
        "A ****** B ****** C",
        "A ******* B",
        "****** B",
        "A ******"
      ]
    }
  ],
  validate_uppercase: [{ args: {}, met: ["ALL OF IT. 1, 2!", "ÀÉ"], broken: ["Not all", "123", "", "A\na"] }],
  validate_lowercase: [{ args: {}, met: ["all of it. 1, 2!"], broken: ["ǅ all", "Not all", "123", "", "a\nA"] }],
  validate_frequency_capital_words: [
    {
      args: quantified(2, "at least"),
      met: ["NASA and ESA.", "A NASA, an ESA, a UN"],
      broken: ["NASA alone", "I A B", "NASAs ESAs", "B2B C3PO"]
    },
    { args: quantified(1, "at most"), met: ["none", "NASA"], broken: ["NASA ESA", ""] },
    { args: quantified(3, "around"), met: ["AB CD", "AB CD EF GH"], broken: ["AB", "AB CD EF GH IJ"] }
  ],
  validate_end: [
    {
      args: { end_phrase: "That is all." },
      met: ["Text. That is all.", "Text.\nThat is all. \n", '"Text. That is all."'],
      broken: ["That is all.", "Text. That is all", "Text. that is all.", "That is all. Text.", "... That is all."]
    },
    { args: { end_phrase: "end" }, met: ["This is the end", "The-end"], broken: ["The weekend", "end"] },
    { args: { end_phrase: "That's all." }, met: ["Text. That’s all."], broken: ["Text. Thats all."] }
  ],
  validate_quotation: [
    {
      args: {},
      met: ['"All of it."', ' "a"\n', "“All of it.”", "„Hallo du“", "«Tout.»", "”Allt.”", "「全部」"],
      broken: ["„Hallo du", '"', '""', '"."', '"a', 'a"', "'a'", 'He said "a"']
    }
  ],
  validate_no_commas: [
    { args: {}, met: ["One two three."], broken: ["One, two.", "一，二", "un، deux", "一、二", "", "..."] }
  ]
}

describe("a checker", () => {
  it("is known for each of the twenty-five functions of the data set, and each has cases", () => {
    assert.strictEqual(checkers.size, 25)
    assert.sameMembers(Object.keys(cases), Array.from(checkers.keys()))
  })

  for (const [name, groups] of Object.entries(cases)) {
    describe(`called ${name}`, () => {
      for (const { args, broken, met } of groups) {
        it(`with ${JSON.stringify(args)} is met by what meets it, and by nothing else`, () => {
          for (const text of met) assert.isTrue(isMet(name, args, text), JSON.stringify(text))
          for (const text of broken) assert.isFalse(isMet(name, args, text), JSON.stringify(text))
        })
      }
    })
  }
})

const word = Schema.Literals(["boat", "sea", "Wind", "calm", "harbour"])
const Words = Schema.Array(word).check(Schema.isMinLength(1), Schema.isMaxLength(30))
const small = Schema.Literals([1, 2, 3, 4, 5])
const count = (list: ReadonlyArray<string>, wanted: string) => list.filter((one) => one.toLowerCase() === wanted).length

/** Texts of `n` parts of one kind, and the checker and arguments that count them exactly. */
const counted: ReadonlyArray<readonly [name: string, args: (n: number) => Args, text: (n: number) => string]> = [
  [
    "verify_paragraph_count",
    (N) => ({ N }),
    (n) => Array.from({ length: n }, (_, i) => `Part ${i}.`).join("\n* * *\n")
  ],
  ["verify_bullet_points", (N) => ({ N }), (n) => Array.from({ length: n }, (_, i) => `- point ${i}`).join("\n")],
  [
    "validate_sections",
    (N) => ({ N, section_splitter: "Part" }),
    (n) => Array.from({ length: n }, (_, i) => `Part ${i + 1}\nText.`).join("\n")
  ],
  [
    "validate_paragraphs",
    (N) => ({ N, first_word: "so", i: N }),
    (n) => Array.from({ length: n }, () => "So be it.").join("\n\n")
  ],
  ["verify_letter_frequency", (N) => ({ N, letter: "q" }), (n) => "q".repeat(n)],
  ["verify_keyword_frequency", (N) => ({ N, word: "boat" }), (n) => "a boat ".repeat(n)]
]

/** Texts of `n` parts of one kind, and the checker that wants at least so many. */
const atLeast: ReadonlyArray<readonly [name: string, part: string]> = [
  ["validate_placeholders", "[x] "],
  ["validate_highlighted_sections", "*x* "]
]

describe("checkers in general", () => {
  it.prop("a word occurs exactly as often as it does", [Words, small], ([words, N]) => {
    const text = words.join(", ")
    const expected = count(words, "boat") === N
    assert.strictEqual(isMet("verify_keyword_frequency", { word: "BOAT", N }, text), expected)
  })

  it.prop("a word is used or avoided, never both", [Words, word], ([words, wanted]) => {
    const text = words.join(" ")
    const used = isMet("verify_keywords", { keyword_list: [wanted] }, text)
    assert.strictEqual(isMet("validate_forbidden_words", { forbidden_words: [wanted] }, text), !used)
    assert.strictEqual(used, count(words, wanted.toLowerCase()) > 0)
  })

  it.prop("what is counted is met by its own number and by no other", [small, small], ([n, other]) => {
    for (const [name, args, text] of counted) {
      assert.strictEqual(isMet(name, args(other), text(n)), n === other, `${name} ${other}: ${text(n)}`)
    }
  })

  it.prop("at least so many parts are met by as many and by more", [small, small], ([n, wanted]) => {
    for (const [name, part] of atLeast) {
      assert.strictEqual(isMet(name, { N: wanted }, part.repeat(n)), n >= wanted, name)
    }
  })

  it.prop("at least, at most and around agree", [Words, Schema.Literals([1, 5, 10, 30])], ([words, n]) => {
    const kinds = [
      ["validate_word_constraint", words.join(" ")],
      ["verify_sentence_constraint", words.map((one) => `${one} it is. `).join("")],
      ["validate_frequency_capital_words", words.map((one) => one.toUpperCase()).join(" ")]
    ] as const
    for (const [name, text] of kinds) {
      const holds = (quantifier: string) => isMet(name, { N: n, quantifier }, text)
      assert.strictEqual(holds("at least"), words.length >= n)
      assert.strictEqual(holds("at most"), words.length <= n)
      if (words.length === n) assert.isTrue(holds("around"))
      if (words.length > n + Math.max(1, n / 10) || words.length < n - Math.max(1, n / 10))
        assert.isFalse(holds("around"))
    }
  })

  it.prop("capitals and small letters follow the case of a text", [Words], ([words]) => {
    const text = words.join(" ")
    assert.isTrue(isMet("validate_uppercase", {}, text.toUpperCase()))
    assert.isTrue(isMet("validate_lowercase", {}, text.toLowerCase()))
    assert.isFalse(isMet("validate_uppercase", {}, text))
    assert.strictEqual(isMet("validate_lowercase", {}, text), text === text.toLowerCase())
  })

  it.prop("edges, wrappings and parts are met once they are put there", [Words], ([words]) => {
    const text = words.join(" ")
    assert.isTrue(isMet("validate_end", { end_phrase: "That is all." }, `${text}. That is all.`))
    assert.isFalse(isMet("validate_end", { end_phrase: "That is all." }, text))
    assert.isTrue(isMet("validate_quotation", {}, `"${text}"`))
    assert.isFalse(isMet("validate_quotation", {}, text))
    assert.isTrue(isMet("validate_no_commas", {}, text))
    assert.isFalse(isMet("validate_no_commas", {}, `${text},`))
    assert.isTrue(isMet("validate_title", {}, `<<${text}>>`))
    assert.isFalse(isMet("validate_title", {}, text))
    assert.isTrue(isMet("validate_json_format", {}, JSON.stringify({ text })))
    assert.isFalse(isMet("validate_json_format", {}, text))
    assert.isTrue(isMet("validate_choice", { options: ["none", text] }, text))
    assert.isFalse(isMet("validate_choice", { options: ["none", text] }, `${text} none`))
    assert.isTrue(isMet("validate_repeat_prompt", { original_prompt: text }, `${text}\nand so on`))
    assert.isFalse(isMet("validate_repeat_prompt", { original_prompt: text }, `so: ${text}`))
    assert.isTrue(isMet("validate_two_responses", {}, `${text}\n******\n${text} indeed`))
    assert.isFalse(isMet("validate_two_responses", {}, `${text}\n******\n${text}`))
    assert.isTrue(isMet("verify_postscript", { postscript_marker: "P.S." }, `${text}\nP.S. ${text}`))
    assert.isFalse(isMet("verify_postscript", { postscript_marker: "P.S." }, `${text}\nP.S.`))
  })

  it.prop("any text is looked at without an error", [Schema.String], ([text]) => {
    for (const [name, [first]] of Object.entries(cases)) assert.isBoolean(isMet(name, first!.args, text))
  })

  it("long and hostile texts take linear time", () => {
    const size = 100_000
    const parts = [
      "a",
      " ",
      "\n",
      "*",
      "<",
      "[",
      '"',
      "-",
      ".",
      "#",
      "a. ",
      "* ",
      "* * *",
      "<<",
      "\n ",
      "[a",
      "*a",
      "P.S. ",
      "é"
    ]
    for (const [name, groups] of Object.entries(cases)) {
      for (const { args } of groups) {
        for (const part of parts) {
          for (const after of ["", "!"]) {
            const check = (text: string) => isMet(name, args, text + after)
            assert.isTrue(Growth.isLinearIn(size, part, check), `${name} on ${JSON.stringify(part)}…${after}`)
          }
        }
      }
    }
  })
})

describe("a constraint of a row", () => {
  const decode = (groundTruth: Args) => Checkers.decode(checkers, groundTruth)
  const problem = (groundTruth: Args) =>
    Result.match(decode(groundTruth), { onFailure: (message) => message, onSuccess: () => "none" })

  it("has its arguments among those of other checkers, which are null", () => {
    const constraint = Result.getOrThrow(
      decode({
        func_name: "verify_paragraph_count",
        N: 2,
        quantifier: null,
        end_phrase: null,
        keyword_list: null,
        i: null
      })
    )
    assert.isTrue(constraint.isMet("a * * * b"))
    assert.include(constraint.instruction, "exactly 2 paragraphs")
  })

  it("that nobody knows is refused with the names there are", () => {
    assert.match(problem({ func_name: "verify_mood" }), /unknown checker "verify_mood"; known: .*verify_keywords/)
    assert.match(problem({}), /unknown checker undefined/)
  })

  it("whose arguments do not fit is refused with the reason", () => {
    assert.match(problem({ func_name: "verify_paragraph_count", N: null }), /verify_paragraph_count.*N/)
    assert.match(problem({ func_name: "verify_keywords", keyword_list: [] }), /verify_keywords/)
    assert.match(problem({ func_name: "validate_word_constraint", N: 3, quantifier: "less than" }), /"at least"/)
    assert.match(problem({ func_name: "verify_letter_frequency", N: 3, letter: "ab" }), /one character/)
    assert.match(problem({ func_name: "validate_response_language", language: "xx" }), /"xx"; supported: ar, bg/)
  })
})
