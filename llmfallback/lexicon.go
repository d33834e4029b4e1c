package llmfallback

import (
	"strings"
	"sync"
)

// A class is a set of things that a word may be.
type class uint64

const (
	function   class = 1 << iota // never a name unless it is quoted
	pointing                     // no name unless "called" stands before it
	timed                        // a month, an hour: no place either
	topic                        // a language, a program: what is "in Python" lies in no folder
	vague                        // no name in lower case; with a capital it may be one: the Shared folder
	determiner                   // the, my, a
	adjective                    // changes nothing about a noun: new, existing
	adverb                       // changes nothing about a request: just, directly
	folderNoun
	fileNoun  // a file by itself, which may be empty
	docNoun   // what a file holds, and so a file: a note, a script
	entryNoun // what lies in a folder: files
	dirsNoun  // folders
	thingNoun // entries if they are said to lie in a folder: items, notes
	textNoun  // what is written: content, line
	kindNoun  // before a noun, of which sort it is: text, project
	namer     // what follows is a name: called
	deny      // not, never
	condition // if, unless, except
	universal // all, every, folders: more than one file
	deed      // a verb of an operation, or of what people ask for beside them
	aim       // a verb that says what a request is for
	subject   // I, we, they
	sample    // a text by itself in examples: hello
	describes // begins the description of a text rather than a text
	binding   // makes a reason into a condition, a filter or a second request
	stating   // follows I in a reason
	wanting   // follows I in a reason, and precedes what to do: not a thing
	placing   // moves the request elsewhere: a reason before it must not
	marker    // starts a text if a colon follows

	// What an operation does anyway is said in words of one class, one of which has the key.
	parentWord // creating the parents
	parentKey
	thereWord // creating a folder only where there is none
	thereKey
	missing  // may end what thereWords say
	listWord // listing with types and details
	listKey
)

// lexicon returns the classes of words, in lower case.
var lexicon = sync.OnceValue(func() map[string]class {
	all := make(map[string]class, 1200)
	for _, entry := range vocabulary {
		for w := range strings.FieldsSeq(entry.words) {
			all[w] |= entry.class
		}
	}
	return all
})

// vocabulary lists the words of each class.
var vocabulary = [...]struct {
	class class
	words string
}{
	{function, `well including excluding ensuring inside outside beneath containing saying located situated been so because since a an the this that these
those my our your his her its their it them they i we you he she me us contain contains include includes and or nor but if then else when while unless
except without with within into onto in on at to from of for by as over under below above before after between through via about around across along against
during until not no never don't do does did is are was were be being am has have had will would can could should may might must shall what which who whom
whose where why how there here everything anything something nothing all any every each both only just also too very again already still yet called named
titled please thanks thank kindly e.g i.e a.m p.m u.s`},
	{pointing, `one ones some many more most few several other another same different such own now new existing current present working empty blank
previous following given specific particular certain specified said entire whole full complete first second third last next parent child home root brand
file files folder folders directory directories dir dirs subfolder subfolders subdirectory subdirectories path paths filename filenames name names title
workspace item items entry entries list listing line lines word words text contents content tree structure hierarchy level levels alphabetical numeric
lowercase uppercase camelcase snakecase snake_case kebab-case titlecase reverse ascending descending today tomorrow yesterday later soon immediately quickly
recursively recursive permanently etc vs order depth detail details columns size sizes date dates permissions owner ownership usage statistics info
information metadata attributes properties timestamps extension extensions explorer manager system systems count number types time case sync place progress
question advance turn brief say says hold holds look looks mean means lack lacks need needs show shows end beginning top bottom middle handle void memory
mind parallel total stdin stdout stderr clipboard exists exist`},
	{topic, `english german french spanish italian portuguese dutch russian chinese japanese korean arabic hindi latin python javascript typescript java
golang rust ruby php perl kotlin swift scala haskell lua c c++ c# bash shell sql markdown json yaml xml csv html css pdf latex utf-8 utf8 ascii binary hex
base64 unicode vim vi nano emacs vscode notepad sublime word excel chrome firefox browser editor terminal console finder explorer git github docker server
cloud s3 ftp usb phone printer internet commit zip quotes brackets bold italics human use trash bin garbage vault repo repository project hexadecimal octal
decimal grayscale greyscale color colour capitals caps landscape portrait silence chunks obsidian typora addition bulk practice theory principle
general short summary particular fact conclusion brief essence contrast reality hindsight retrospect response closing passing haste
return exchange effect vain error person agreement conjunction desperation anger pressure reason background`},
	{timed, `january february march april june july august september october november december monday tuesday wednesday thursday friday saturday sunday
winter summer autumn hour hours minute minutes day days week weeks month months year years noon midnight morning afternoon evening night moment meantime
future past`},
	{vague, `usual typical fresh old latest recent final single double multiple various main default local remote target source destination original
duplicate copy temporary permanent private hidden secret secure shared nested separate dedicated special proper personal simple normal regular standard
basic random unique similar related relevant necessary appropriate suitable corresponding matching remaining big small large long short nice good great
better best bad safe clean correct right left wrong daily weekly monthly yearly document general entitled labeled labelled read write create make delete
remove move rename add append open show display print view check see get put save store set up find locate search look tell give let want need like help
using run execute keep raw`},

	{determiner, `the my our your this that a an these its their vault's workspace's project's repo's`},
	{adjective, `new existing specific particular old actual brand single one whole entire full complete fresh simple short small separate brand-new nested
following current present original quick necessary final additional extra main empty blank obsolete outdated unused unneeded redundant stale temporary`},
	{adverb, `just please directly simply right straight quickly kindly only over carefully actually also there presently currently then now silently immediately
here permanently completely`},
	{folderNoun, `directory folder dir directory's folder's subdirectory subfolder sub-directory sub-folder`},
	{fileNoun, `file document doc`},
	{docNoun, `note script report spreadsheet draft page module notebook image photo picture log list plan guide template entry journal readme
summary recipe invoice contract resume letter paper article post checklist proposal agenda chapter diary memo presentation outline transcript
minutes notes settings instructions requirements documentation code config configuration csv json yaml pdf manual manifest schedule changelog
todo dataset table budget itinerary essay story poem novel thesis book specification spec roadmap license program source policy record statement data`},
	{entryNoun, `files entries filenames`},
	{dirsNoun, `folders directories subfolders subdirectories sub-folders sub-directories dirs`},
	{thingNoun, `items documents notes stuff things artifacts assets resources materials objects`},
	{textNoun, `content contents text body data message line lines words word heading header string phrase sentence greeting paragraph code value note
entry item task section reminder bullet title snippet statement remark record todo quote information`},
	{kindNoun, `text plain txt markdown md json yaml yml toml xml csv html css log config configuration settings source python javascript typescript go
rust java image pdf word excel data script readme template report draft notes todo env environment shell bash sql project meeting journal shopping blog
research budget backup cache test temp to-do study lecture class travel design build output input work documentation policy security system status release`},
	{namer, `called named titled entitled labeled labelled`},

	{deny, `not never no without cannot nothing nobody none neither nor avoid refrain stop cancel skip hold forget abort undo`},
	{condition, `if unless when whenever except until once otherwise provided assuming but instead ignore after before while prompting asking interactively
tomorrow tonight later soon eventually maybe perhaps possibly probably hypothetically supposedly allegedly example instance`},
	{universal, `all every each everything any both twice anything whole entire files folders directories recursively recursive`},
	{deed, `read open show display print view list create make write save append add delete remove erase copy duplicate move rename mkdir rm mv cp run
execute send update replace put check find search commit push overwrite edit readfile writefile appendfile deletefile createdirectory listdirectory
fileexists copyfile movefile insert count sort compress zip modify change summarize translate compare extract store rewrite undo empty clear merge split
convert share upload download email email-it note jot log drop capture record document fill populate attach transfer archive relocate should must needs
duplicating deleting removing moving renaming copying creating writing adding appending`},
	{aim, `review double double-check check see verify understand inspect analyze examine study plan prepare organize organise keep store hold save track
help start begin work use know free avoid separate group maintain make ensure learn debug remember refresh continue follow reflect match better
archive document contain house collect manage improve tidy clean be get confirm find figure decide look compare read view recall
serve support gather capture centralize record log monitor have give show`},
	{subject, `i we it they he she you`},
	{sample, `hello hi hey goodbye bye world foo bar baz qux lorem ipsum`},
	{describes, `about of from for that describing explaining as in to and my our your the a an some this these those all any like similar based such what
which whatever how it same including containing listing summarizing i we you today's current or with both every each one two three random dummy default
appropriate relevant is was explained shown below above file folder directory you'd on by at copied taken separated provided given inside summary suitable
placeholder today yesterday`},
	{binding, `and or then if unless except all every each only matching recursive recursively lines line glob variable
you not never no without instead after until whenever but deleted removed`},
	{stating, `am are was is has had have finished started forgot lost found got think thought just keep kept renamed wrote hope`},
	{wanting, `need want have plan hope would`},
	{placing, `in inside within under at from into folder directory dir path folders directories file files here there this that`},
	{marker, `content contents text texts containing contains saying says body reads reading message code following data line lines`},
	{parentWord, `ensuring making created are is with including and along together plus creating create all any its the of nonexistent non-existent
non-existing directories folders dirs directory-s paths components as if they don't do not exist that`},
	{parentKey, `parent parents intermediate necessary required needed missing leading enclosing`},
	{thereWord, `if only but and it one that the directory folder they this path does do is already yet an any cause causing throw throwing give giving
raise raising report reporting return returning print creating as`},
	{thereKey, `not doesn't don't isn't necessary needed required missing unless nonexistent non-existent no without never`},
	{missing, `exist exists there present existing error errors needed necessary required missing nonexistent non-existent fail failing complain complaining`},
	{listWord, `or two marks using with along including include even and the any all their its visible files file ones one items entries folders
directories directory info indicated shown displayed marked indicators between included too also making sure you don't overlook ensuring that of each which
is are what in clear clearly as well by subdirectories`},
	{listKey, `labels labeled indicate distinguish showing indicating [file] [dir] hidden types type details detailed detail information prefixes prefix distinguishing marking`},
}
