package textskill_test

// guarantees are the promises of SECURITY.md in detail. A line is what is protected, "from",
// the danger, and the tests that hold the promise.
const guarantees = `
Files
  files outside the workspace and --allow from paths with .., absolute paths, every spelling: TestSpellings TestLeads
  files outside the workspace and --allow from links that lead out, chains of them, dangling ones: TestReal TestManyLinks
  files outside the workspace and --allow from folders and files that become links while they are used: TestFolderSwappedWithLink TestFileSwappedWithLink TestRemoveWhileSwapped
  files outside the workspace and --allow from all of these, in every path argument of every tool: TestHostilePaths TestSwappedPaths TestHostileTexts TestHostileFiles TestHostilePathsOverStdio TestPathsAreMarked
  a file that is changed from a disk that is full, read-only or another's, too many open files, a workspace that is moved or removed: TestAdversity
  the workspace itself from being deleted, moved or replaced: TestRootsStay
  .git, perstack and perstack.toml, which run code from writes of file tools: TestConfigIsNotContent TestConfigInATree TestConfigLookalikes
  the history, for undo from every tool and fenced command: TestPlace TestOutputIsReadAndNotChanged
  a history that must lie in the workspace, in .skill from every tool: TestRecordsAreDenied TestUserStateIsDenied TestRecordsAreNotListed TestRecordsInATree
  the user's terminal from control characters in names, contents and errors: TestVisibleControls TestScript
  the user's intent from a path with blanks, flags after the command, words left over: TestScript
  the user of skill test from a stranger's golden file: flags, links, servers, commands: TestScript TestGoldenServersEnd
  this program from FIFOs, sockets, devices: TestSpecialFiles TestSpecialFileInATree
  this program from damage of the history: TestDamagedHistory TestDamagedLog FuzzLog
  this program from a command that damages saved files: TestIndex FuzzIndex
  another agent from a hook that fails, hangs, prints, or is gone: TestHookHostile TestHookFull TestHookCommandLine
  another agent's configuration from entries that are not this program's: TestScript
  files outside the workspace from payloads of hooks, with links: TestHookHostile
  the user from an undo that goes past a call which a hook missed: TestHookMissed TestHookKilled
  work that a change did not make from its undo: of a person, of other sessions, in folders that no look entered: TestOwnership TestHookAtOnce TestHookUser TestOverlaps
  everything from changes under --read-only and --dry-run: TestReadOnly TestDryRun TestExecIsRefusedWhereNothingMayChange

Commands: the fence
  all of the below from some 520 attempts by system calls, as root and as another user: TestFenceProbes TestFenceProbesWithoutAView TestFenceProbesWithoutNamespaces
  files outside the workspace, the temporary folder and the caches from writes: TestFenceFiles TestFenceServer
  files outside from subvolumes and snapshots of btrfs and bcachefs: TestSubvolumesAreDenied
  caches and settings of other programs from writes: TestCachesAreApart
  .git/config and .git/hooks, which run code from writes of commands, by any way and by links in their place: TestGitSettingsAreFixed TestGitSettingsAreNotFollowed
  commondir, config.worktree, hooks, attributes and alternates that .git lacks, and settings of nested clones, submodules and worktrees, from commands and servers: TestGitIsNotLedElsewhere TestGitGuardFindsRepositories TestGitGuardIsShared TestGitGuardMeetsALock
  a person's hooks and settings from the end of a command: TestGitGuardKeepsOtherFiles
  settings of Mercurial, and files that they include, from commands: TestMercurialIsGuarded
  repositories that a command makes, by the names of their hooks and settings: TestGitProgramsAreNamed
  the user's terminal, its modes and what is typed for other programs from commands, wherever their streams lead: TestTerminalOfCommand TestTerminalOfOthers
  temporary files and shared memory of other programs from reads and writes: TestOwnDirectories TestOwnDirectoriesAreFixed
  files of the user outside from set-id bits: TestFenceProbes
  keys, tokens, passwords, files of other projects from reads: TestFenceFiles TestFencePATH
  keys, tokens, passwords, files of other projects from links that an earlier command left behind: TestFenceStays
  other machines, and services of this one from sockets without --network: TestFenceProbes TestServersMeetCommands
  other machines, and services of this one from a forged network of a server: TestForgedNetworks
  other machines, and services of this one from TCP: TestFenceTCP TestFenceProbesWithoutNamespaces
  other machines, and services of this one from UDP, Multipath TCP, raw and other sockets, io_uring, connecting by sending, listening without a port: TestFenceSockets TestFenceProbes
  services of the user and the system from sockets that have a name, by paths, links, open directories, /proc, mounts and other namespaces: TestFenceProbes TestPassedSocketsAreShown TestSocketsOfLookups TestViewIsOfNow TestNoViewOfEverything
  other processes from signals, abstract sockets, debuggers, /proc: TestFenceSignals
  other processes from being listed, with their arguments: TestFenceProbes TestACommandSeesItsOwnProcesses
  other processes from limits, priorities, keyrings, System V objects: TestFenceProbes
  other processes from a record of a server that a command wrote: TestForgedServerRecordsKillNothing TestForgedServerEventsKillNothing
  the helper of a command from signals, debuggers, its pipes: TestACommandDoesNotReachItsHelper
  tokens, passwords, agents of the environment from commands: TestCommandsGetNoCredentials
  tokens in the user's settings of git from commands: TestGitSettingsAreFiltered
  common programs from a fence that is too tight: TestFenceLetsProgramsWork TestViewHasLinks TestOwnDirectories TestCachesAreApart
  the system from set-uid programs, devices, memory, core dumps: TestFenceLimits TestFenceFiles
  the user from a report of a sandbox that is not there: TestFenceModes TestFenceWhereThereIsNone TestRunTellsOfALessFence TestPerstackHealth
  the machine from orphaned processes: TestNoProcessIsLeftAfterATimeout TestAHopperIsCaught TestEverythingDiesWithTheProgram
  the machine from a helper that is killed: TestNothingOutlivesItsHelper
  the machine from a helper that is killed together with the program, the helper of a server: TestNothingOutlivesHelperAndProgram
  this program from output without end: TestExecOutputIsBounded

Programs that this one starts for itself
  this machine from programs that a command put into PATH: TestProgramsOfTheWorkspaceAreNotStarted
  files outside the workspace from all programs that git starts: TestGitIsFenced
  files, services of this machine from a page, or whoever reaches the browser's DevTools: TestBrowserIsFenced TestBrowserKeepsItsSandbox
  files outside the workspace from the search program: TestSearchProgramIsFenced
  the user's passwords from the repository, other hosts: TestGitLogin TestGitLoginOfAnotherHost TestGitAsksNobody
  the fence from a second way to start programs: TestOneWayToStartAProgram

Credentials
  the user's tokens, passwords from records of another agent's commands: TestHookRedacts
  this program's keys from commands: TestExecEnvironment
  this program's keys from looking into /proc: TestNoCredentialCanBeSeenInProc
  this program's keys from other users, in the list of processes: TestKeyFile
  the user's key and conversation from an endpoint, provider or key that perstack.toml or .env of a workspace names: TestKeyStaysWithoutTrust TestScript
  the user from commands and endpoints of a stranger's skills, also those that a command wrote into perstack.toml: TestScript
  the user from a perstack.toml of another user in a directory above: TestProjectOfAnotherUser
  credentials of the environment and .env from records, events, the model: TestCredentials TestSecretsStayOut TestRedactedIsExplained
  the program's open files from commands: TestNothingOfThisProcessIsInherited
  passwords of git from a prompt that nobody sees: TestGitAsksNobody

Network
  the network from use without --network: TestTheWebIsOffUnlessAllowed
  private addresses, this machine by any address of its interfaces, cloud metadata from addresses in every spelling, redirects, names that change their answer: TestGuardAddresses TestOwnAddressIsRefused TestNoSpellingLeadsInside TestNoRedirectLeadsInside TestANameThatChangesItsAnswer
  private addresses, this machine by any address of its interfaces, cloud metadata from a proxy from the environment: TestNoProxyBySurprise
  private addresses, this machine by any address of its interfaces, cloud metadata from git's remotes: TestGitGuard
  the MCP server over HTTP from web pages, other hosts and users: TestHTTPRefuses TestHTTPNeedsATokenWhereOthersCanReachIt TestMCPMakesAToken
  the MCP server over HTTP from other users: TestHTTPServesOverAUnixSocket
  the MCP server over HTTP from sessions without end, bodies that do not come, batches: TestHTTPSessionsAreBounded TestHTTPIdleSessionsEnd TestHTTPSessionsEnd TestHTTPServesBesideOthersWhoDoNot
  the page of skill web from web pages, other hosts and users: TestPageRefuses TestPageLink
  changes that the page could undo from forms and scripts of other pages, that have the cookie sent: TestPageRefuses
  a reader of the page from names, contents and logs that contain markup or controls: TestPageShowsHostileText TestPageFits TestPageRefuses
  the page from diffs, logs and lists without end: TestPageIsBounded TestPageCutsNames
  a workspace from roots of an MCP client: TestRootsNarrowAndNeverWiden

Fleets
  files .env* and credentials of git from the servers: TestSecret TestGitConfig
  files of a tenant with a key from readers of the servers' disks: TestKey
  a worker's disk from manifests and packs that are damaged or made up: TestDamaged TestLinkInPlace
  skill-fleet mcp --http from web pages, other hosts and users: TestRelayNames TestMCPHTTP
  the servers of skill/fleet/deploy from other machines, root in a container: TestReadme

Git
  this machine from hooks, filters, editors and helpers that a repository names: TestGitRunsNothing TestGitSettings
  files outside the workspace from repositories that reach out of it: TestGitOutside

The project
  the checks of a change from an action whose tag is moved: TestWorkflowsArePinned
`
