const e=507,t=[507],n={380:((e,t,n)=>{n.d(t,{readVisibleText:()=>f});var r=n(8731),i=n(2429),a=n(4479),o=n(7749),s=n(8835);let c=16e3,l={extensions:[(0,i.r)(),(0,o.x)(),{disable:{null:[`attention`]}}],htmlExtensions:[(0,a.C)(),(0,s.k)()],allowDangerousHtml:!0},u=/<!--(?:-?>|.*?(?:--!?>|$))|<(?:[!?]|\/[^a-z])[^>]*>?|<(script|style|rp)\b.*?(?:<\/\1[^>]*>?|$)|<(\/?[a-z][^\s/>]*)(?:[\s/]+|[^\s/>][^\s/>=]*(?:\s*=\s*(?:"[^"]*"?|'[^']*'?|[^\s>"'][^\s>]*)?)?)*>?/gis,d={img:`[image]`,br:`
`,hr:`
`,"/p":`
`,li:`- `,td:` `,th:` `,"&lt;":`<`,"&gt;":`>`,"&quot;":`"`,"&amp;":`&`};function f(e){let t=e.length<=c;return{text:(0,r.yt)(t?e:p(e),l).replace(u,(e,t,n=``)=>d[n.toLowerCase()]??``).replace(/&(?:lt|gt|quot|amp);/g,e=>d[e]??e),isWhole:t}}function p(e){let t=e.slice(0,c),n=Math.max(0,t.lastIndexOf(`

`));return t.slice(0,n)+t.slice(n).replace(/[<[][\s\S]*/,``)}})};export{e as id,t as ids,n as modules};