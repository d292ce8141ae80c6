//! The phrases that make a sentence a standing instruction, and those that lift one.
//!
//! Patterns are those of [`longhaul_text::Phrases`]; Chinese and Japanese cues are plain substrings, `^` marks
//! one that must open a clause and `~` anything between two.

use longhaul_text::{LazyPhrases, WordSet, phrases, word_set};

/// Orders and conventions that hold from now on.
pub(crate) static RULES: LazyPhrases = phrases![
    // English: always and never.
    "from now on",
    "from here on",
    "from this point on",
    "^in the future",
    "^in future",
    "please ~ in future",
    "please ~ in the future",
    "at all times",
    "under no circumstances",
    "on no account",
    "no exceptions",
    "without exception",
    "for the rest of this|the|our",
    "for the remainder of",
    "^always @base",
    "^never @base",
    "must|should|shall|to always|never @base",
    "must|should|shall always|never be",
    "^we always|never @base",
    "i always|never want|like|prefer",
    "^you always|never use|write|run|commit|push",
    "can|could|would|will you ~ always|never @base",
    // English: what must not be.
    "^don't|dont|don´t ever",
    "^do not ever",
    "^don't|dont @base",
    "^do not @base",
    "must not @any",
    "mustn't|mustnt",
    "^you must|may|should not @base",
    "^you must|should|may|can only @any",
    "^you must @base",
    "^you shouldn't @base",
    "^you cannot|can't @verb",
    "not allowed",
    "is|are forbidden|prohibited|banned|mandatory",
    "off limits",
    "hands off",
    "i don't|dont want ~ to|any|in|a|new",
    "i do not want",
    "^we don't|dont|never use|allow|want|commit|support|push|write|do|ship|add|import|mock|merge|touch|have",
    "^we do not use|allow|want|commit|support|push|write|do|ship|add|import|mock|merge|touch",
    "^avoid @any",
    "^refrain from",
    "^stop @ing",
    "^leave ~ alone|untouched|unchanged",
    "^stay in|within|inside|out|away|on",
    "^no ~ without",
    "^nothing ~ without|may|must|should",
    // English: what must be.
    "^all|every|each|any ~ must|should|shall|needs|need",
    "must only @any",
    "should only be",
    "strictly limited to",
    "^limit|restrict|confine yourself|changes|edits|your|all ~ to",
    "^stick to|with",
    "^only @verb",
    "^use|run|edit|modify|change|touch|write|read|commit|work only",
    "^prefer @any",
    "^we|i prefer|favor|favour|require",
    "i'd prefer @any",
    "i'd rather you",
    "i would prefer @any",
    "i would rather you",
    "^use|write|name|import|call ~ not|never|no",
    "^use ~ instead of",
    "^use ~ rather than",
    "^use ~ for|in all|every|everything|any|each",
    "^use ~ everywhere|throughout|exclusively",
    "^we use|follow|target|deploy|format|only|write|name",
    "^we're using|on @any",
    "^keep ~ in|under|below|within|out|short|small|minimal|simple|consistent|concise|brief|separate|compatible|green",
    "^keep ~ private|secret|intact|untouched|unchanged|sorted",
    "^remember that|to|this|you|we|never|always|not|all|the|only|i",
    "^keep|bear in mind that",
    "make sure|ensure|certain ~ every|each|always|never|nothing|whenever|no",
    "^make sure|ensure all|that all @any",
    "^whenever @any",
    "^every|each|any time you|we",
    "^only ever",
    "^only @any may|can|should @base",
    "^all|every|each ~ has|have to",
    "^remember ^@any",
    "^treat @any as",
    "^i want all|every|each|only @any",
    "^@plural must|may @any",
    "^@any @plural must|may @any",
    "^@any @any @plural must|may @any",
    "that you always|never|don't|only @base",
    "only allowed|permitted to",
    "^write|format|name|prefix|start|end|sign ~ messages|names|commits|branches|titles in|with|as @any",
    // English: whom to ask.
    "without asking|permission|approval|confirmation|my|checking|explicit|telling",
    "unless i|explicitly|asked|told|requested",
    "until i say|tell|approve|confirm",
    "^ask me|first|before",
    "^check|confirm with me",
    "^wait for my|me",
    // English: manner and conventions.
    "^respond|answer|reply|speak|talk|communicate|write|comment ~ in english|german|french|spanish|chinese|japanese|korean|italian|portuguese|russian",
    "^respond|answer|reply|be concisely|briefly|concise|brief|terse",
    "the|our|my|this|one|critical|golden|hard|house|important|another rule is",
    "rules are",
    "our|my|project|house|team|company convention|policy|standard|standards|style is|are|says|requires",
    "by convention",
    // German.
    "ab jetzt|sofort",
    "von jetzt an",
    "künftig|zukünftig|grundsätzlich",
    "in zukunft",
    "^immer @any",
    "^nie|niemals @any",
    "^nicht @any",
    "auf keinen fall",
    "unter keinen umständen",
    "^verwende|verwendet|benutze|nutze|schreib|schreibe|nimm|mach|mache|führe|lass|lasse|halte|achte|antworte ~ immer|nie|niemals|nicht|stets|statt|ausschließlich|nur|keine|kein|keinen",
    "darf|dürfen|darfst|sollst|sollen|muss|müssen|musst ~ nie|niemals|nicht|keine|keinen|kein|immer|stets",
    "^alle|jede|jeder|jedes ~ muss|müssen|soll|sollen",
    "^keine|kein|keinen ~ ohne|in|im|bitte",
    "ohne rückfrage|nachfrage|meine",
    "ohne zu fragen",
    "^wir verwenden|nutzen|benutzen|schreiben",
    "^vermeide|vermeidet",
    "denk|denke daran",
    "^antworte|schreib|schreibe auf|immer",
    // Spanish.
    "a partir de ahora",
    "de ahora|aquí en adelante",
    "^siempre|nunca|jamás @any",
    "^usa|utiliza|escribe|ejecuta|haz|pon|mantén|responde ~ siempre|nunca|no|solo|sólo",
    "^usa|utiliza ~ en lugar|vez",
    "^no uses|hagas|toques|cambies|modifiques|borres|elimines|agregues|añadas|crees|pongas|subas|ejecutes|escribas|olvides|instales|incluyas|utilices",
    "en ningún caso",
    "bajo ninguna circunstancia",
    "^todos|todas|cada ~ debe|deben|tiene|tienen",
    "no debe|deben|debes|se",
    "debe|deben|debes ~ siempre|nunca",
    "está|queda prohibido",
    "^evita|evite",
    "^recuerda que|siempre|no",
    "sin preguntar|preguntarme|permiso|avisar|avisarme",
    "^solo|sólo usa|modifica|cambia|toca",
    "^prefiero|usamos",
    "^responde|escribe en",
    // French.
    "à partir de maintenant",
    "désormais|dorénavant",
    "^toujours|jamais @any",
    "^utilise|utilisez|écris|écrivez|fais|faites|garde|gardez|réponds|répondez|mets|mettez|lance|lancez ~ toujours|jamais|pas|plutôt|uniquement|seulement",
    "^ne|n'utilise|n'utilisez|n'ajoute|n'ajoutez|n'écris|n'écrivez|n'oublie|n'oubliez ~ pas|jamais|plus|rien",
    "doit|doivent|dois|devez ~ toujours|jamais|pas",
    "^tous|toutes|chaque ~ doit|doivent",
    "en aucun cas",
    "est|sont interdit|interdite|interdits|interdites",
    "^évite|évitez|privilégie|privilégiez|préfère|préférez @any",
    "sans demander|autorisation",
    "il faut toujours",
    "il ne faut pas|jamais",
    "^nous|on utilisons|utilise",
    "^réponds|répondez|écris|écrivez en",
];

/// Times and manners that make a rule of an order, and only of an order.
pub(crate) static STANDING: LazyPhrases = phrases![
    "from now on",
    "going|moving forward",
    "in the future",
    "in future",
    "at all times",
    "always|never @base",
    "before|after|on each|every|any @any",
    "every|each|any time you|we",
    "for|with|in each|every commit|change|reply|response|answer|pr|file|function|test|release|session",
    "before you commit|push|merge|change|edit|delete|touch|deploy|reply|answer|modify",
    "before committing|pushing|merging|deleting|deploying|releasing",
];

/// Sentences that sound like rules and are not: comfort, thinking aloud, what holds only now.
pub(super) static NOT_RULES: LazyPhrases = phrases![
    "yet",
    "for now",
    "for the moment",
    "at the moment",
    "right now",
    "this time",
    "just this once",
    "for this one",
    "keep this|that|it in mind",
    "keep on|up|me",
    "keep @ing",
    "don't|dont|not worry|bother|panic|care|mind|know|see|get|need",
    "^i think|thought|guess|suppose|believe|noticed|tried|found|saw|see|got|ran|selected|wonder|wondered|assume|doubt",
    "^i was|had|have|did|am|can|can't|could|just|now",
    "^it|this|that|he|she|they|there always|never|must",
    "problem|issue|bug|cause|error|reason|culprit must be",
    "must have been",
    "you must be|feel|love|have|think",
    "all you|we|i need",
    "whenever you need|want|like|feel|are",
    "not|don't|dont hesitate|feel|give|fear|stop",
    "not|don't|dont be afraid|shy|surprised",
    "line|lines @number",
];

/// First words of questions.
#[rustfmt::skip]
pub(super) static QUESTIONS: WordSet = word_set![
    "why", "what", "what's", "whats", "how", "how's", "when's", "where", "where's", "which", "who", "who's",
    "is", "isn't", "are", "aren't", "does", "doesn't", "did", "didn't", "was", "were", "has", "should",
    "shouldn't", "warum", "wieso", "was", "wie", "welche", "por", "qué", "cómo", "cuándo", "dónde",
    "pourquoi", "comment", "quand", "quel", "quelle", "est", "wann", "wo",
];

/// Openings of questions of more than one word.
pub(super) static ASKING: LazyPhrases = phrases![
    "can|could|would|will|shall|may|should|shouldn't you|we|i|it|this|that|the",
    "do|have|had you|we|i|they",
    "any idea|ideas|thoughts|chance",
];

/// Openings of questions that ask somebody to do something.
pub(super) static ASKS_FOR: LazyPhrases = phrases!["^can|could|would|will you"];

/// Words by which somebody is told to do something.
pub(super) static OBLIGES: LazyPhrases = phrases!["must|should|shall"];

/// Last words of a label before a rule, as in "Rule: …".
pub(super) static RULE_LABELS: WordSet = word_set!["rule", "rules", "convention", "constraint"];

/// Words of a report: what has them forbids nothing.
#[rustfmt::skip]
pub(super) static REPORTS: WordSet = word_set![
    "is", "are", "was", "were", "has", "have", "found", "of", "to", "does", "did", "i", "should", "would", "works",
];

/// Nouns behind "no" that report instead of forbidding.
#[rustfmt::skip]
pub(super) static NO_REPORTS: WordSet = word_set![
    "need", "idea", "prob", "problem", "hay", "doubts", "problems", "worries", "way", "one", "it", "that",
    "that's", "this", "i", "i'm", "we", "you", "the", "there", "not", "longer", "rush", "hurry", "thanks",
    "thank", "luck", "such", "match", "matches", "error", "errors", "output", "result", "results", "change",
    "changes", "issue", "issues", "he", "she", "they", "its", "it's", "just", "please", "don't", "dont",
    "wait", "but", "and", "so", "because", "if", "matter", "doubt", "clue", "description", "reason", "need",
    "is", "only", "my", "your", "our", "a", "an", "in", "on", "use", "what", "why", "how", "still", "file",
    "files", "test", "response", "data", "difference", "sense", "big", "deal", "biggie", "stop", "go",
    "for", "from", "to", "real",
];

/// Nouns that name rules; a line of them with a colon, or a heading, makes the list below it rules.
#[rustfmt::skip]
pub(super) static RULE_NOUNS: WordSet = word_set![
    "rule", "rules", "convention", "conventions", "guideline", "guidelines", "constraint", "constraints",
    "policy", "policies", "principles", "regeln", "konventionen", "reglas", "convenciones", "règles",
    "conventions",
];

/// The same in Chinese and Japanese.
#[rustfmt::skip]
pub(super) const WIDE_RULE_NOUNS: &[&str] = &[
    "规则", "规范", "约定", "约束", "要求如下", "注意事项", "ルール", "規約", "制約", "注意事項",
    "禁止事項", "規則",
];

/// Standing instructions in Chinese.
#[rustfmt::skip]
pub(super) const CHINESE_RULES: &[&str] = &[
    "以后都", "以后请", "以后不", "以后别", "以后要", "以后所有", "以后只", "以后一", "^以后", "^今后",
    "从现在起", "从现在开始", "从今以后", "始终", "永远不", "永远要", "^永远", "绝不", "绝对不", "千万不",
    "千万别", "一律", "必须", "必須", "务必", "不要", "不许", "不允许", "不得", "不准", "禁止", "严禁",
    "别再", "^别", "请勿", "切勿", "只能", "只允许", "仅允许", "只用", "仅使用", "只使用", "^只改",
    "^仅修改", "^只修改", "优先使用", "优先用", "^尽量", "记住", "^请用", "^请使用", "^请始终", "^请保持",
    "统一使用", "统一用", "都要用", "都要写", "都要有", "都必须", "都应该", "每次~都要", "每次~必须",
    "每次~请", "每次~先", "每次~后", "每次~前", "而不是", "除非我", "未经", "^避免", "^不能", "不可以",
    "请尽量", "^总是", "要一直", "总要", "^用中文", "^用英文", "我们用", "我们使用",
];

/// Standing instructions in Japanese.
#[rustfmt::skip]
pub(super) const JAPANESE_RULES: &[&str] = &[
    "必ず", "常に~ください", "常に~こと", "常に~使", "常に~て", "絶対に", "禁止", "しないで",
    "ないでください", "ないで下さい", "しないこと", "ないこと", "てはいけ", "てはなら", "ではいけ",
    "すること。", "今後は", "今後、", "これからは", "これ以降", "以降は", "以後", "毎回", "のみ使用",
    "だけ使", "だけを使", "使わないで", "避けて", "優先して", "統一して", "を守って", "勝手に", "前に必",
    "忘れずに", "いつでも", "ではなく", "じゃなくて", "日本語で答", "日本語で回答", "日本語で返",
    "日本語で書", "英語で答", "英語で書", "敬語で", "覚えておいて", "簡潔に", "お答えは",
];

/// What takes a Chinese or Japanese cue back.
#[rustfmt::skip]
pub(super) const WIDE_NOT_RULES: &[&str] = &[
    "要不要", "不要紧", "需不需要", "是否", "有没有", "能不能", "可不可以", "为什么", "怎么", "先不",
    "暂时", "暂不", "这次", "目前", "今のところ", "とりあえず", "今回は", "なぜ", "どうして", "かもしれ",
    "都会", "都失败", "都报", "落ちる", "失敗する", "エラーになる", "必ず失敗", "必ず落ち", "常に失敗",
    "毎回失敗", "毎回エラー", "禁止されて", "不要担心", "心配しないで", "気にしないで", "以后再",
    "必须要吗", "已经必须",
];

/// Ends of Chinese and Japanese questions.
#[rustfmt::skip]
pub(super) const WIDE_QUESTION_ENDS: &[&str] =
    &[
    "吗", "呢", "么", "ですか", "ますか", "でしょうか", "ませんか", "のか", "かな",
];

/// Phrases that lift an instruction.
pub(crate) static LIFTS: LazyPhrases = phrases![
    "no longer need|needs|needed|required|necessary|applies|apply|valid|use|using|want|have|a|the|care|matters|forbidden|has|must",
    "you|we|i no longer",
    "you may now|again|use|also",
    "you may ~ now|again",
    "now you|we may|can",
    "you|we can now @base",
    "you can ~ now|again|after",
    "you're|are allowed|free to",
    "is|are allowed|fine|ok|okay|permitted now|again",
    "ok|okay|fine to ~ now|again",
    "it's|its|is ok|okay|fine to|now",
    "feel free to",
    "never mind",
    "nevermind",
    "^drop|forget|ignore|cancel|lift|remove|scratch|disregard ~ rule|rules|instruction|instructions|restriction|convention|requirement|ban|policy",
    "^forget about|what|that|the",
    "you|we|i don't|needn't|dont ~ anymore",
    "you|we|i don't|do|dont ~ any more",
    "no need to ~ anymore|now|any",
    "doesn't|don't|not apply|needed|necessary|required anymore|any|now|here",
    "rule|restriction|ban is|are gone|lifted|off|void|over|obsolete",
    "nicht mehr",
    "darfst|dürft|kannst ~ jetzt|wieder",
    "vergiss die|das",
    "ya no",
    "ya puedes|podemos",
    "olvida la|lo|el",
    "tu peux|vous pouvez maintenant|désormais",
    "n'est|n'a plus",
    "plus besoin",
];

/// Phrases that put a new instruction in the place of an old one.
#[rustfmt::skip]
pub(super) static CHANGES: LazyPhrases = phrases![
    "instead", "rather than", "switch to", "switched to", "changed", "not ~ anymore", "stattdessen",
    "statt", "en lugar de", "en vez de", "au lieu de", "plutôt",
];

/// Chinese and Japanese phrases that lift an instruction: something need not be done any more.
#[rustfmt::skip]
pub(crate) const WIDE_RELIEFS: &[&str] = &[
    "不用再", "不必再", "不需要再", "不再需要", "なくていい", "なくて大丈夫", "なくて結構", "もう必要な", "もう不要",
];

/// Others that lift one, and may ask for something along with it.
#[rustfmt::skip]
pub(super) const WIDE_LIFTS: &[&str] = &[
    "可以不用", "现在可以", "取消之前", "取消这", "规则取消", "规则作废", "忘掉", "解除", "撤回", "なくても",
    "してもいい", "てもよい", "ても構", "忘れていい", "忘れてください", "もう気にし",
];

/// Chinese and Japanese phrases that change one.
#[rustfmt::skip]
pub(super) const WIDE_CHANGES: &[&str] =
    &[
    "改用", "改为", "改成", "换成", "代わりに", "に変更", "に切り替え", "やめて",
];
