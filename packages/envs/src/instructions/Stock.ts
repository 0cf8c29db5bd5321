/**
 * Lists words and sentences for prompts and sample answers.
 *
 * The sentences have no commas, none of the letters j, q, x and z, none of the words to be avoided or counted, and no
 * word in capitals, so that a constraint's requirement occurs exactly as often as it is inserted.
 */
export const tasks: ReadonlyArray<string> = [
  "Describe a harbour early in the morning.",
  "Tell a child how rain comes about.",
  "Recommend a walk through an old town.",
  "Write to a friend who has moved to another city.",
  "Explain why people keep dogs.",
  "Describe your favourite season.",
  "Advise somebody who wants to learn to cook.",
  "Tell a short story about a lost umbrella.",
  "Describe a market on a Saturday.",
  "Explain how to plant a tree.",
  "Write an advertisement for a small bakery.",
  "Compare travelling by train and by car.",
  "Describe a night in the mountains.",
  "Explain what a library is good for.",
  "Write a note to a neighbour who plays music at night.",
  "Describe a meal that you would cook for guests.",
  "Tell what a day on a farm is like.",
  "Explain how to fall asleep.",
  "Describe a city from the roof of a house.",
  "Welcome new members to a chess club.",
  "Thank a teacher who has retired.",
  "Describe a garden in autumn.",
  "Explain how bread is made.",
  "Tell a stranger the way through a park."
]

/** Used in order in sample answers, as many as needed. */
export const sentences: ReadonlyArray<string> = [
  "The morning light falls on the water.",
  "A man walks along the wall.",
  "Two children look for shells.",
  "The bread is still warm.",
  "A bell rings and birds fly up.",
  "Rain came in the night.",
  "Someone has painted a blue door.",
  "The ferry is late again.",
  "People talk about the weather.",
  "A woman sells fish and flowers.",
  "Later the wind turns.",
  "In the evening the lamps are lit.",
  "There is tea on the table.",
  "Then it is night and all is calm."
]

export const keywords = "copper lantern meadow orchard pebble saddle thunder velvet whisper cabin".split(" ")
export const avoided = [
  "very",
  "really",
  "always",
  "never",
  "because",
  "however",
  "thing",
  "great",
  "nice",
  "beautiful"
]
export const rareLetters: ReadonlyArray<readonly [letter: string, word: string]> = [
  ["j", "jar"],
  ["q", "quilt"],
  ["x", "box"],
  ["z", "maze"]
]
export const firstWords = ["now", "here", "still", "so", "then"]
export const capitals = ["OPEN", "STOP", "NASA", "TAXI", "EXIT", "DANGER"]
export const ends = ["That is all there is to say.", "Thank you for reading.", "May I tell you more?"]
export const splitters = ["Section", "Part", "Chapter"]

export const choices: ReadonlyArray<readonly [question: string, options: readonly [string, ...Array<string>]]> = [
  ["Is a harbour a good place for a walk?", ["yes", "no", "it depends"]],
  ["Rain falls upwards. What do you say?", ["I agree.", "I disagree."]],
  ["Do you like the sea or the mountains better?", ["the sea", "the mountains"]],
  ["Which meal would you rather skip?", ["breakfast", "lunch", "dinner"]],
  ["Should a library be open at night?", ["My answer is yes.", "My answer is no.", "My answer is maybe."]]
]

export const languages: ReadonlyArray<readonly [code: string, answer: string]> = [
  [
    "de",
    "Am Morgen liegt der Hafen still da. Die Boote warten auf den Wind, und ein alter Mann füttert die Möwen mit Brot."
  ],
  [
    "fr",
    "Le matin, le port est encore calme. Les bateaux attendent le vent et un vieil homme donne du pain aux mouettes."
  ],
  [
    "es",
    "Por la mañana el puerto está tranquilo. Los barcos esperan el viento y un hombre viejo da pan a las gaviotas."
  ],
  ["it", "La mattina il porto è ancora tranquillo. Le barche aspettano il vento e un vecchio dà il pane ai gabbiani."],
  ["pt", "De manhã o porto ainda está tranquilo. Os barcos esperam pelo vento e um homem velho dá pão às gaivotas."],
  ["pl", "Rano port jest jeszcze spokojny. Łodzie czekają na wiatr, a stary człowiek karmi mewy kawałkami chleba."],
  ["tr", "Sabahleyin liman henüz sakindir. Tekneler rüzgârı bekler ve yaşlı bir adam martılara ekmek verir."],
  ["ru", "Утром в гавани ещё тихо. Лодки ждут ветра, а старый рыбак кормит чаек хлебом и рассказывает им о море."],
  ["vi", "Buổi sáng bến cảng vẫn còn yên tĩnh. Những con thuyền chờ gió và một ông già cho chim ăn bánh mì."],
  ["ja", "朝の港はまだ静かです。船は風を待ち、老人がかもめにパンをやっています。"],
  ["ko", "아침의 항구는 아직 조용하다. 배들은 바람을 기다리고 한 노인이 갈매기에게 빵을 준다."]
]
