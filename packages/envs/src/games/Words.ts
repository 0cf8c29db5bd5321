/** Lists common English words of five letters: the hidden words and valid guesses of `wordle`. */
export const words: ReadonlyArray<string> = `
  about above actor acute adapt admit adopt adult after again agent agree ahead alarm album alert alike alive
  allow alone along alter amber among ample angel anger angle angry ankle apart apple apply apron arena argue
  arise armor arrow aside asset audio audit avoid awake award aware awful bacon badge baker basic basil basin
  batch beach beard beast begin being below bench berry birth black blade blame blank blast blaze blend bless
  blind blink block blond blood bloom board boast bonus boost booth bound brain brake brand brass brave bread
  break breed brick bride brief bring brisk broad broom brown brush build built bunch burst buyer cabin cable
  camel canal candy canoe cargo carry carve catch cause cease chain chair chalk charm chart chase cheap check
  cheek cheer chess chest chief child chill choir chord chose civic civil claim class clean clear clerk cliff
  climb cloak clock clone close cloth cloud clown coach coast cobra cocoa coral couch cough count court cover
  crack craft crane crash crate crawl crazy cream creek crest crime crisp cross crowd crown crude cruel crumb
  crush crust cubic curve cycle daily dairy daisy dance debut decay delay dense depth derby devil diary digit
  diner dirty ditch diver dodge donor doubt dough dozen draft drain drama drawn dream dress dried drift drill
  drink drive drown drums dusty dwarf eager eagle early earth easel eaten edges eight elbow elder elect elite
  empty enemy enjoy enter entry equal error essay event every exact exist extra fable faint fairy faith false
  fancy fault favor feast fence ferry fetch fever fiber field fiery fifth fifty fight final first flame flank
  flash flask fleet flesh float flock flood floor flour fluid flute focus foggy force forge forty forum found
  frame frank fresh front frost fruit fully funny gauge giant given glass gleam globe gloom glory glove goose
  grace grade grain grand grant grape graph grasp grass grave great green greet grief grill grind groan group
  grove growl grown guard guess guest guide guild habit happy harsh haste haunt heart heavy hedge hello hinge
  hobby honey honor horse hotel hound house human humid humor hurry ideal image imply index inner input irony
  issue ivory jeans jelly jewel joint joker judge juice juicy kayak knead kneel knife knock known koala label
  labor large laser later laugh layer learn least leave legal lemon level lever light limit linen liver lobby
  local lodge lofty logic loose lower loyal lucky lunar lunch magic major maker mango maple march marsh match
  mayor medal media melon mercy merge merit merry metal meter midst minor mixer model money month moral motel
  motor mound mount mouse mouth movie muddy music naval nerve never night ninth noble noise north notch novel
  nurse oasis occur ocean offer often olive onion opera orbit order organ other otter ounce outer oxide ozone
  paint panel panic paper party pasta paste patch pause peace peach pearl pedal penny phase phone photo piano
  piece pilot pinch pizza place plain plane plant plate plaza plead pluck plumb point polar porch pound power
  press price pride prime print prism prize probe proof proud prove pulse punch pupil puppy purse quack quart
  queen query quest quick quiet quill quilt quite quota quote radar radio raise rally ranch range rapid raven
  reach react ready realm rebel refer relax relay reply rhyme ridge rifle right rigid rival river roast robin
  robot rocky rough round route royal rural salad salon sandy satin sauce scale scare scarf scene scent scope
  score scout scrap seize sense serve seven shade shake shape share shark sharp sheep sheet shelf shell shift
  shine shirt shock shore short shout shrub sight silky sixth skate skill skirt slate sleep slice slide slope
  small smart smell smile smoke snack snake solar solid solve sound south space spare spark speak spear speed
  spell spend spice spicy spike spine spoon sport spray squad stack staff stage stain stair stamp stand stare
  start state steam steel steep stern stick still sting stock stone stool store storm story stove straw strip
  study stuff style sugar sunny super surge swamp swarm sweet swift swing sword syrup table taste teach teeth
  thank theme thick thief thing think third thorn three throw thumb tiger tight timer title toast today token
  tooth topic torch total touch tough towel tower toxic trace track trade trail train trait treat trend trial
  tribe trick troop truck truly trunk trust truth tulip twice twist ultra uncle under union unite unity upper
  upset urban usage usual valid value valve vapor vault verse video villa vinyl virus visit vital vivid vocal
  voice voter wagon waist waste watch water weary weigh whale wheat wheel where while white whole widen width
  windy witty woman world worry worth wound woven wrist write wrong yacht yearn yeast yield young youth zebra
`
  .trim()
  .split(/\s+/)
