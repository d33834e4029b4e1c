package rawjson_test

import (
	"fmt"

	"textskill/parser/rawjson"
)

func ExampleDecode() {
	value, repairs, err := rawjson.Decode("Here you are: {path: 'it\\'s.txt', \"size\": None,}", "path")
	fmt.Println(string(value), err)
	fmt.Println(repairs)
	_, _, err = rawjson.Decode(`{"path": "a.txt", "content": "hel`)
	fmt.Println(err)
	// Output:
	// {"path": "it's.txt", "size": null} <nil>
	// [bare key quoted single quotes replaced Python literal replaced trailing comma removed prose removed]
	// the JSON is cut off before its end (byte 33)
}

func ExampleMembers() {
	members, twice, ok := rawjson.Members([]byte(`{"path": "a", "path": "b"}`))
	fmt.Printf("%s %s %t\n", members["path"], twice, ok)
	// Output: "b" path true
}
