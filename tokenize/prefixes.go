package tokenize

import (
	"strconv"
	"strings"
)

// prefixKind says when the full stop after an abbreviation belongs to it.
type prefixKind uint8

const (
	notPrefix     prefixKind = iota
	alwaysPrefix             // "Dr." always keeps its stop
	numericPrefix            // "No." keeps it before a digit only
)

// The non-breaking prefixes of Moses: words whose full stop ends no sentence. Code adds letters, ordinals and Roman
// numerals.
const (
	honorifics = "Adj Adm Adv Asst Bart Bldg Brig Bros Capt Cmdr Col Comdr Con Corp Cpl DR Dr Ens Gen Gov Hon " +
		"Hosp Insp Lt MM MR MRS MS Maj Messrs Mlle Mme Mr Mrs Ms Msgr Op Ord Pfc Ph Prof Pvt Rep Reps Res Rev Rt " +
		"Sen Sens Sfc Sgt Sr St Supt Surg"

	// May is absent on purpose: it is a verb too.
	englishPrefixes = honorifics + " Drs Hr v vs i.e rev e.g Nos Nr Jan Feb Mar Apr Jun Jul Aug Sep Oct Nov Dec"
	englishNumeric  = "No Art pp"

	germanPrefixes = honorifics + " Mio Mrd bzw v vs usw d.h z.B u.a etc MwSt ggf d.J D.h m.E vgl I.F z.T sogen ff " +
		"u.E g.U g.g.A c.-à-d Buchst u.s.w sog u.ä Std evtl Zt Chr u.U o.ä Ltd b.A z.Zt spp sen SA k.o jun i.H.v dgl " +
		"dergl Co zzt usf s.p.a Dkr bzgl BSE No Nos Art Nr pp ca Ca"

	romanNumerals = "I II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII XIX XX"

	frenchPrefixes = "A.C.N A.M art ann apr av auj lib B.P boul ca c.-à-d cf ch.-l chap contr C.P.I C.Q.F.D C.N C.N.S " +
		"C.S dir éd e.g env al etc E.V ex fasc fém fig fr hab ibid id i.e inf LL.AA LL.AA.II LL.AA.RR LL.AA.SS L.D " +
		"LL.EE LL.MM LL.MM.II.RR loc.cit masc MM ms N.B N.D.A N.D.L.R N.D.T n/réf NN.SS N.S N.D N.P.A.I p.c.c pl pp " +
		"p.ex p.j P.S R.A.S R.-V R.P R.I.P SS S.S S.A S.A.I S.A.R S.A.S S.E sec sect sing S.M S.M.I.R sq sqq suiv " +
		"sup suppl tél T.S.V.P vb vol vs X.O Z.I"
)

// nonBreakingPrefixes returns a language's prefixes, English's if it has none of its own.
func nonBreakingPrefixes(language string, version MosesVersion) (prefixes map[string]prefixKind, own bool) {
	prefixes = make(map[string]prefixKind)
	add := func(kind prefixKind, words string) {
		for word := range strings.FieldsSeq(words) {
			prefixes[word] = kind
		}
	}
	letters := func(from, to byte) {
		for c := from; c <= to; c++ {
			prefixes[string(rune(c))] = alwaysPrefix
		}
	}
	letters('A', 'Z')
	switch language {
	case "de":
		letters('a', 'z')
		add(alwaysPrefix, germanPrefixes)
		add(alwaysPrefix, romanNumerals)
		add(alwaysPrefix, strings.ToLower(romanNumerals))
		for n := 1; n < 100; n++ {
			prefixes[strconv.Itoa(n)] = alwaysPrefix
		}
	case "fr":
		letters('b', 'z') // "a" is a verb form that ends sentences
		add(alwaysPrefix, frenchPrefixes)
	default:
		add(alwaysPrefix, englishPrefixes)
		add(numericPrefix, englishNumeric)
		if version != Moses2017 {
			add(alwaysPrefix, "Rs") // rupees
		}
	}
	return prefixes, language == "en" || language == "de" || language == "fr"
}
